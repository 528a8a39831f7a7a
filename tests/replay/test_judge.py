from __future__ import annotations

import json
from typing import Any

import pytest

from context_builder.replay.judge import call_kept, nothing_kept, question_kept
from context_builder.replay.transcripts import CallNeeds, Question
from context_builder.testing import tool_call
from tests.replay.conversations import said


def _request(*texts: str) -> dict[str, Any]:
    return {"messages": [said("user", text) for text in texts]}


@pytest.mark.parametrize(
    "text",
    [
        'the file is C:\\new\\"a" 价',
        json.dumps({"path": 'C:\\new\\"a" 价'}),
        json.dumps({"path": 'C:\\new\\"a" 价'}, ensure_ascii=False),
        json.dumps(json.dumps(['C:\\new\\"a" 价'])),
    ],
)
def test_a_value_counts_inside_json_too(text: str) -> None:
    """JSON's escapes are undone, in JSON within JSON as well."""
    needs = CallNeeds(at=3, values=('C:\\new\\"a" 价',))
    assert call_kept(needs, _request(text)).is_whole


def test_a_value_counts_in_arguments_and_not_in_tool_definitions() -> None:
    """What counts is what the conversation said."""
    needs = CallNeeds(at=1, values=("A77", "B88"))
    call = tool_call("c", "find", '{"order": "A77"}')
    request = {
        "messages": [{"role": "assistant", "content": None, "tool_calls": [call]}],
        "tools": [{"type": "function", "function": {"name": "B88"}}],
    }
    kept = call_kept(needs, request)
    assert (kept.kept, kept.needed, kept.missing) == (1, 2, ("B88",))


def test_a_message_counts_only_whole_and_wherever_it_stands() -> None:
    """A framed passage holds a message; half of it is not enough."""
    messages = [said("user", "[2024-05-01] I like\n  tea."), said("user", "bye")]
    question = Question("qa", "What do I like?", (0,))
    framed = _request("<recalled>\nuser: [2024-05-01] I like tea.\n</recalled>")
    assert question_kept(question, 0, framed, messages).is_whole
    assert not question_kept(question, 0, _request("I like tea."), messages).is_whole


def test_the_question_is_no_evidence() -> None:
    """An answer that only the question repeats was not kept."""
    question = Question("constraint", "Is it 100 yuan?", (0,), answer="100 yuan")
    messages = [said("user", "Is it 100 yuan?")]
    kept = question_kept(question, 0, _request("Is it 100 yuan?"), messages)
    assert not kept.is_whole
    assert kept.has_answer is False


def test_of_a_span_only_telling_messages_count() -> None:
    """A text that stands twice does not say which message is there."""
    messages = [said("user", text) for text in ("Yeah.", "The price is 25.", "Yeah.")]
    question = Question("qa_span", "Which price?", (0, 1))
    kept = question_kept(question, 0, _request("The price is 25."), messages)
    assert (kept.kept, kept.needed) == (1, 1)


def test_where_nothing_was_sent_nothing_is_kept() -> None:
    """A call that could not be made counts against the strategy."""
    call = nothing_kept(CallNeeds(at=4, values=("a", "b")), 0)
    assert (call.where, call.kept, call.needed) == (4, 0, 2)
    question = nothing_kept(Question("qa", "?", (1,), answer="x"), 2)
    assert (question.where, question.kept, question.has_answer) == (2, 0, False)
