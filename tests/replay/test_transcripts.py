from __future__ import annotations

from context_builder.replay import Transcript
from context_builder.replay.transcripts import CallNeeds, Question, units
from tests.replay.conversations import record, said, transcript


def test_a_record_is_read_with_its_evidence() -> None:
    """Both kinds of evidence are known; others are left out."""
    read = Transcript.read(
        record(
            1,
            evidence=[
                {"kind": "tool_args", "at": 2, "needs": [{"value": 7}]},
                {"kind": "qa", "question": "Where?", "message_ids": [4]},
                {"kind": "another"},
            ],
        )
    )
    assert read.evidence == (
        CallNeeds(at=2, values=("7",)),
        Question("qa", "Where?", (4,), None),
    )


def test_the_model_is_called_before_each_of_its_messages() -> None:
    """A greeting that opens the conversation is no answer to anything."""
    assert transcript(2).calls == (2, 4, 6, 8)
    greeting = Transcript("g", (said("system", "s"), said("assistant", "Hello")))
    assert greeting.calls == ()


def test_calls_and_results_are_one_unit() -> None:
    """What a window keeps together is what vendors demand."""
    assert units(transcript(1).messages) == [[0], [1], [2, 3], [4]]
