from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_builder.tokens import EstimatingCounter, TiktokenCounter
from context_builder.tokens.estimator import PROFILES, profile_for, rule_of_thumb

EXACT = TiktokenCounter("o200k_base")

TEXTS = {
    "en": "The committee met on Tuesday to discuss the new budget, but no decision was "
    "made before lunch. Everyone agreed that the report needs another week of work.",
    "de": "Guten Tag! Heute ist das Wetter schön, und wir möchten über die Straße, "
    "um Gemüse für das Abendessen zu kaufen.",
    "zh": "今天天气非常好。我们打算和朋友一起去市场买一些新鲜的水果"
    "。然后回家准备晚餐。",
    "ja": "今日は天気がとても良いので、友達と一緒に市場へ行って"
    "新鮮な果物を買う予定です。",
    "ko": "안녕하세요. 오늘은 서울의 날씨가 맑고 따뜻합니다."
    " 내일은 보고서를 작성합니다.",
    "ru": "Добрый день! Сегодня погода хорошая, и мы собираемся пойти на рынок.",
    "ar": "مرحبا بكم في مدينتنا الجميلة. اليوم الطقس مشمس ودافئ، وسوف نذهب إلى السوق.",
    "th": "สวัสดีครับ วันนี้อากาศดีมาก เราจะไปเที่ยวตลาดและซื้อผลไม้สดกับเพื่อน",
    "json": '{"id": 1042, "status": "shipped", "items": [{"sku": "AB-12", "count": 3}, '
    '{"sku": "XY-90", "count": 1}], "total": 59.90}',
    "code": "def total(prices):\n    result = 0\n    for price in prices:\n"
    "        result += price * 1.19\n    return round(result, 2)\n",
}


@pytest.mark.parametrize("language", TEXTS)
def test_an_estimate_is_near_the_count(language: str) -> None:
    """A few sentences of any script are estimated within a fifth."""
    estimate = EstimatingCounter().count(TEXTS[language])
    assert estimate == pytest.approx(EXACT.count(TEXTS[language]), rel=0.2)


def test_the_scripts_pay_for_themselves() -> None:
    """Over all scripts the estimate is nearer than the two-price rule of thumb."""
    counter = EstimatingCounter()
    errors = {
        name: sum(
            abs(estimate(text) / EXACT.count(text) - 1) for text in TEXTS.values()
        )
        for name, estimate in (("ours", counter.count), ("thumb", rule_of_thumb))
    }
    assert errors["ours"] < errors["thumb"] / 2


@given(text=st.text(max_size=300), more=st.text(max_size=100))
def test_more_text_never_costs_much_less(text: str, more: str) -> None:
    """Adding text cannot lower an estimate, but for what joins at the seam."""
    counter = EstimatingCounter()
    assert counter.count(text + more) >= counter.count(text) - 2


@given(text=st.text(min_size=1, max_size=100))
def test_families_differ_by_their_prices(text: str) -> None:
    """Every profile counts every text; Claude's newer tokenizer cuts finest."""
    counts = {
        name: EstimatingCounter(profile_for(name)).count(text) for name in PROFILES
    }
    assert min(counts.values()) > 0
    assert counts["claude-new"] >= counts["claude"] >= counts["generic"]


@pytest.mark.parametrize("text", ["a" * 10**6, "^" * 10**6, "漢" * 10**6, " " * 10**6])
def test_runs_are_not_free(text: str) -> None:
    """A million characters without a word have a price, found in one pass."""
    assert EstimatingCounter().count(text) > 5_000
