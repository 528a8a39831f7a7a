from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_builder.decide import wishes
from context_builder.decide.wishes import wish_in


@pytest.mark.parametrize(
    ("text", "wish"),
    [
        ("What is it?", None),
        ("", None),
        ("Always  answer\nin French.", "Always answer in French."),
        ("MY NAME IS Ann", "MY NAME IS Ann"),
        ("以后请用中文回答。", "以后请用中文回答。"),
        ("always " + "a" * 233, "always " + "a" * 233),
        ("always " + "a" * 234, None),
        ("x " * 150 + ". Call me Bo! " + "y " * 50, "Call me Bo!"),
        ("x " * 150 + "。叫我小明。" + "y " * 50, "叫我小明。"),
        ("Call me Bo. " * 30 + "x " * 50, "Call me Bo."),
        ("x" * 300 + ". Call me Bo. Never so. Bye.", "Call me Bo. Never so."),
        ("a. " * 6_660 + "Call me Bo.", "Call me Bo."),
        ("a. " * 6_667 + "Call me Bo.", None),
    ],
)
def test_a_wish_is_said_in_its_own_short_sentences(text: str, wish: str | None) -> None:
    """Of a short message all of it; of a long one the sentences that wish."""
    assert wish_in(text) == wish


@pytest.mark.parametrize(
    "wish",
    [
        "I am allergic to nuts",
        "my allergies",
        "I use a wheelchair",
        "we are vegetarians",
        "Speak slowly in Dutch",
        "I'd prefer tea",
        "keep your replies short",
        "Sag das nie wieder",
        "Ich habe eine Allergie gegen Nüsse",
        "Ich sitze im Rollstuhl",
        "Künftig bitte kürzer",
        "Bitte keine Listen",
        "Antworte bitte auf Deutsch",
        "Ich heiße Jürgen",
        "Désormais, sois bref",
        "Je suis végétarienne",
        "N'oublie pas : sans gluten",
        "Répondez toujours en anglais",
        "Je suis en fauteuil roulant",
        "Soy alérgica al marisco",
        "De ahora en adelante, sin tablas",
        "Responde en español",
        "Llámame Ana",
        "Daqui em diante, seja breve",
        "Não se esqueça do sal",
        "Uso cadeira de rodas",
        "Я предпочитаю чай",
        "Отвечай на русском",
        "Есть аллергия на орехи",
        "Впредь короче",
        "甲殻類アレルギーがあります",
        "今後は短く",
        "日本語で答えて",
        "我坐轮椅",
        "請用中文回答",
        "앞으로 짧게",
    ],
)
def test_a_wish_is_known_in_many_languages(wish: str) -> None:
    """In small letters and in capitals."""
    assert wish_in(wish) == wish
    assert wish_in(wish.upper()) is not None


@pytest.mark.parametrize(
    "text",
    [
        "Anieze hat die Rechnung niedrig gehalten",
        "What was the answer? Write it down",
        "Was steht auf der Rechnung?",
        "Où est la gare ?",
        "¿Cuánto cuesta el billete?",
        "Quanto custa o bilhete?",
        "Сколько стоит билет?",
        "切符はいくらですか",
        "票价是多少",
        "표는 얼마예요?",
        "The unallergenic nevermore",
    ],
)
def test_a_question_is_no_wish(text: str) -> None:
    """Nor is a word that only holds one of the words."""
    assert wish_in(text) is None


@given(
    text=st.text(alphabet="aeinprswy 你请用答アル", max_size=60),
    place=st.integers(0, 60),
)
def test_no_wish_is_lost_by_looking_for_its_words_first(text: str, place: int) -> None:
    """The pattern alone would find the same."""
    for said in (text, text[:place] + "answer in" + text[place:]):
        is_wish = wishes._WISH.search(said) is not None
        assert (wish_in(said) is not None) == (is_wish and bool(said.strip()))


@pytest.mark.parametrize("phrase", [*wishes._PHRASES, *wishes._BEGINNINGS])
def test_each_phrase_is_known_however_it_is_written(phrase: str) -> None:
    """None of them is hidden by another one, or by capitals."""
    assert wish_in(f"x {phrase} y".upper()) is not None
    assert wish_in(f"x {phrase.capitalize()} y") is not None


def test_several_wishes_have_to_be_short_together() -> None:
    """Or none is said: half a wish is none."""
    two = [f"Always do {letter * 105}." for letter in "ab"]
    assert wish_in("x" * 300 + ". " + " ".join(two)) == " ".join(two)
    three = [f"Always do {letter * 105}." for letter in "abc"]
    assert wish_in("x" * 300 + ". " + " ".join(three)) is None
