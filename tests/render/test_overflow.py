from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_builder.render.overflow import (
    Overflow,
    answer_overflow,
    is_context_overflow,
    overflow_of,
    was_cut_silently,
)
from tests.render.clients import CLIENTS, Clients
from tests.render.sdk_types import MODELS
from tests.render.server import VendorServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

DATA = Path(__file__).parents[1] / "data" / "provider_errors.jsonl"
RECORDED = [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]

# Wording, and what it states: limit, input, output.
STATED: Mapping[str, tuple[int | None, int | None, int | None]] = {
    "This model's maximum context length is 128000 tokens. However, your messages "
    "resulted in 202868 tokens (202767 in the messages, 101 in the functions). Please "
    "reduce the length of the messages or functions.": (128_000, 202_868, None),
    "This model's maximum context length is 131072 tokens. However, you requested "
    "131134 tokens (122942 in the messages, 8192 in the completion). Please reduce the "
    "length of the messages or completion.": (131_072, 122_942, 8_192),
    "This endpoint's maximum context length is 32768 tokens. However, you requested "
    "about 35000 tokens (34000 of text input, 1000 in the output). Please reduce the "
    "length of either one.": (32_768, 34_000, 1_000),
    "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted "
    "in 289650 tokens. Please reduce the length of the messages.": (
        272_000,
        289_650,
        None,
    ),
    "Your input exceeds the context window of this model. Please adjust your input and "
    "try again.": (None, None, None),
    "prompt is too long: 208310 tokens > 200000 maximum": (200_000, 208_310, None),
    "prompt is too long: 208,310 tokens > 200,000 maximum": (200_000, 208_310, None),
    "input length and `max_tokens` exceed context limit: 199759 + 8192 > 200000, "
    "decrease input length or `max_tokens` and try again": (200_000, 199_759, 8_192),
    "The input token count (1200293) exceeds the maximum number of tokens allowed "
    "(1048576).": (1_048_576, 1_200_293, None),
    "The input token count 1200293 exceeds the maximum number of tokens allowed "
    "1048576.": (1_048_576, 1_200_293, None),
    "Input is too long for requested model.": (None, None, None),
    "The model returned the following errors: prompt is too long: 200049 tokens > "
    "200000 maximum": (200_000, 200_049, None),
    "Input Tokens Exceeded: Number of input tokens exceeds maximum length.": (
        None,
        None,
        None,
    ),
    "Too many input tokens. Please reduce.": (None, None, None),
    "expected maxLength: 300000, actual: 450000": (None, None, None),
    "prompt tokens (9000) exceed model maximum (8192)": (8_192, 9_000, None),
    "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 "
    "maximum context length": (32_768, 40_000, None),
    "too many tokens: total number of tokens (prompt and prediction) cannot exceed "
    "2048 - received 6354. Try using a shorter prompt or a smaller max_tokens value.": (
        2_048,
        6_354,
        None,
    ),
    "too many tokens: size limit exceeded by 11 tokens.": (None, None, None),
    "<400> InternalError.Algo.InvalidParameter: Range of input length should be "
    "[1, 983616]": (983_616, None, None),
    "Invalid request: Your request exceeded model token limit: 262144 (requested: "
    "269030)": (262_144, 269_030, None),
    "Prompt exceeds max length": (None, None, None),
    "This model's maximum prompt length is 131072 but the request contains 136973 "
    "tokens.": (131_072, 136_973, None),
    "Please reduce the length of the messages or completion.": (None, None, None),
    "Please reduce the length of the messages or completion. Current length is 42328 "
    "while limit is 40000": (40_000, 42_328, None),
    "`inputs` tokens + `max_new_tokens` must be <= 8192. Given: 6204 `inputs` tokens "
    "and 2047 `max_new_tokens`": (8_192, 6_204, 2_047),
    "the request exceeds the available context size. try increasing it": (
        None,
        None,
        None,
    ),
    "request (9001 tokens) exceeds the available context size (8192 tokens), try "
    "increasing it": (8_192, 9_001, None),
    "Input length 203743 exceeds the maximum length 202752": (202_752, 203_743, None),
    "'max_tokens' or 'max_completion_tokens' is too large: 30000. This model's maximum "
    "context length is 32768 tokens and your request has 5000 input tokens (30000 > "
    "32768 - 5000).": (32_768, 5_000, 30_000),
    "Request body too large for gpt-4o model. Max size: 8000 tokens.": (
        8_000,
        None,
        None,
    ),
    "The prompt is longer than the model's context length": (None, None, None),
    "input too long": (None, None, None),
    "maximum input length is 4096": (4_096, None, None),
    "this exceeds the model's maximum context limit": (None, None, None),
    "requested token count exceeds the model's limit": (None, None, None),
    "Context window limit exceeded": (None, None, None),
    "prompt too long; exceeded max context length by 12 tokens": (None, None, None),
    "tokens in request more than max tokens allowed": (None, None, None),
    "context_overflow": (None, None, None),
}

OTHERS: tuple[tuple[int, Mapping[str, Any]], ...] = (
    (
        400,
        {
            "code": "string_above_max_length",
            "message": "Invalid 'messages[2].tool_calls[0].id': string too long. "
            "Expected a string with maximum length 40, but got a string with length 43 "
            "instead.",
        },
    ),
    (400, {"code": "array_above_max_length", "message": "array too long"}),
    (
        429,
        {
            "type": "tokens",
            "code": "rate_limit_exceeded",
            "message": "Request too large for gpt-4o on tokens per min (TPM): Limit "
            "30000, Requested 45000. The input or output tokens must be reduced.",
        },
    ),
    (
        413,
        {
            "message": "Request too large for model `llama-3.3-70b` in organization "
            "`org` service tier `on_demand` on tokens per minute (TPM): Limit 10000, "
            "Requested 15088, please reduce your message size and try again."
        },
    ),
    (
        400,
        {
            "message": "max_tokens is too large: 100000. This model supports at most "
            "16384 completion tokens, whereas you provided 100000."
        },
    ),
    (
        400,
        {
            "message": "max_tokens: 200000 > 64000, which is the maximum allowed "
            "number of output tokens for claude-sonnet-4-6"
        },
    ),
    (413, {"type": "request_too_large", "message": "Request exceeds the maximum size"}),
    (400, {"message": "Request payload size exceeds the limit: 20971520 bytes."}),
    (401, {"message": "Incorrect API key provided."}),
    (400, {"message": "max_tokens must be at least 1"}),
    (500, {"message": "The server had an error while processing your request."}),
    (400, {"__type": "ThrottlingException", "message": "Too many tokens."}),
    (400, {"message": "Too many tokens, please wait before trying again."}),
    (
        400,
        {"message": "Item 'rs_1' of type 'reasoning' came without its item."},
    ),
    (529, {"type": "overloaded_error", "message": "Overloaded: context window full"}),
)


# --- every wording, in every form -----------------------------------------------------


@pytest.mark.parametrize("text", STATED, ids=lambda text: text[:40])
def test_every_wording_is_understood(text: str) -> None:
    """Each vendor's words are told for an overflow, with the figures they state."""
    assert overflow_of(text) == Overflow(*STATED[text])
    assert overflow_of({"status": 400, "message": text}) == Overflow(*STATED[text])


FORMS: Mapping[str, Callable[[str], object]] = {
    "nested": lambda text: {"error": {"type": "x", "message": text, "param": None}},
    "list": lambda text: [{"error": {"code": 400, "message": text}}],
    "json": lambda text: json.dumps({"error": {"message": text}}),
    "bytes": lambda text: json.dumps({"error": {"message": text}}).encode(),
    "gateway": lambda text: {
        "error": {
            "message": "Provider returned error",
            "code": 400,
            "metadata": {"raw": json.dumps({"error": {"message": text}})},
        }
    },
    "string in string": lambda text: json.dumps(
        json.dumps({"error": json.dumps({"message": text})})
    ),
    "after a status": lambda text: f"400 {json.dumps({'error': {'message': text}})}",
    "repr": lambda text: f"Error code: 400 - { ({'error': {'message': text}})!r}",
    "exception": RuntimeError,
    "group": lambda text: ExceptionGroup("all", [ValueError(text)]),
    "event": lambda text: {"type": "error", "error": {"message": text}},
    "failed event": lambda text: {
        "type": "response.failed",
        "response": {"error": {"code": "x", "message": text}},
    },
    "object": lambda text: SimpleNamespace(error=SimpleNamespace(message=text)),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_understood(form: str) -> None:
    """Bodies as data, as text, in one another, exceptions and events are read."""
    text = "prompt is too long: 208310 tokens > 200000 maximum"
    assert overflow_of(FORMS[form](text)) == Overflow(200_000, 208_310)
    assert overflow_of(FORMS[form]("This has nothing to do with it.")) is None


@pytest.mark.parametrize(
    "fields",
    [
        {"code": "context_length_exceeded"},
        {"code": "1261"},
        {"code": "3051"},
        {"code": 3051},
        {"type": "exceed_context_size_error"},
        {"error": {"code": "context_length_exceeded", "message": "Too much."}},
        {"type": "message", "stop_reason": "model_context_window_exceeded"},
        {"choices": [{"finish_reason": "model_context_window_exceeded"}]},
    ],
)
def test_codes_tell_it_without_words(fields: Mapping[str, Any]) -> None:
    """A structured code is enough."""
    assert is_context_overflow({"status": 400, **fields})


def test_llama_cpp_states_its_figures_as_data() -> None:
    """Figures beside the message are taken as well."""
    error = {
        "code": 400,
        "message": "the request exceeds the available context size, try increasing it",
        "type": "exceed_context_size_error",
        "n_prompt_tokens": 9_001,
        "n_ctx": 8_192,
    }
    assert overflow_of({"error": error}) == Overflow(8_192, 9_001)


@pytest.mark.parametrize(("status", "body"), OTHERS)
def test_look_alikes_are_not_taken_for_it(status: int, body: Mapping[str, Any]) -> None:
    """Rate limits, output limits, bytes and lengths of fields are something else."""
    assert not is_context_overflow({"status": status, "error": body})
    assert not is_context_overflow(json.dumps({"status": status, "error": body}))


@pytest.mark.parametrize("record", RECORDED, ids=lambda record: record["id"])
def test_recorded_errors_are_told_apart(record: dict[str, Any]) -> None:
    """Real refusals are classified right."""
    message = record["error"]["error"]["message"]
    expected = "prompt is too long" in message or "input token count" in message
    for form in (record["error"], json.dumps(record["error"]), {**record}):
        assert is_context_overflow(form) == expected


# --- the SDKs' own exceptions ---------------------------------------------------------

BODIES: Mapping[str, Any] = {
    "bedrock": {"message": "Input is too long for requested model."},
    "gemini": {
        "error": {
            "code": 400,
            "status": "INVALID_ARGUMENT",
            "message": "The input token count (1200293) exceeds the maximum number of "
            "tokens allowed (1048576).",
        }
    },
    "mistral": {"object": "error", "message": "too large", "code": "3051"},
    "cohere": {"message": "too many tokens: size limit exceeded by 11 tokens."},
    "ollama": {"error": "the input exceeds the context length 2048"},
}
OPENAI_BODY = {
    "error": {
        "code": "context_length_exceeded",
        "type": "invalid_request_error",
        "param": "messages",
        "message": "This model's maximum context length is 8192 tokens. However, your "
        "messages resulted in 9001 tokens.",
    }
}


@pytest.fixture
def server() -> Iterator[VendorServer]:
    """Give a server that plays every vendor."""
    with VendorServer() as running:
        yield running


@pytest.mark.parametrize("target", CLIENTS)
def test_the_sdks_exceptions_are_understood(server: VendorServer, target: str) -> None:
    """What an SDK raises is told for an overflow, and other errors are not."""
    from context_builder import ContextBuilder  # noqa: PLC0415  only here

    ctx = ContextBuilder(max_tokens=900)
    ctx.add_user_message("Hi.")
    request = ctx.request(target, model=MODELS[target])
    clients = Clients(server)
    server.failures = [
        (400, BODIES.get(target, OPENAI_BODY)),
        (401, {"error": {"message": "Incorrect API key provided."}, "message": "no"}),
    ]
    raised = []
    for _ in range(2):
        with pytest.raises(Exception) as caught:  # noqa: PT011  each SDK has its own
            clients.call(target, request)
        raised.append(is_context_overflow(caught.value))
    clients.close()
    assert raised == [True, False]


# --- answers --------------------------------------------------------------------------


def test_an_answer_cut_at_the_window_is_an_overflow() -> None:
    """The stop reason tells; what the model said never does."""
    said = "prompt is too long: 9 tokens > 4 maximum"
    answer = {
        "type": "message",
        "content": [{"type": "text", "text": said}],
        "stop_reason": "end_turn",
        "usage": {},
    }
    assert answer_overflow(answer) is None
    assert answer_overflow(said) is None
    cut = {**answer, "stop_reason": "model_context_window_exceeded"}
    assert answer_overflow(cut) == Overflow()
    assert answer_overflow(SimpleNamespace(**cut)) == Overflow()
    delta = {"type": "message_delta", "delta": {"stop_reason": cut["stop_reason"]}}
    assert answer_overflow([{"type": "ping"}, delta]) == Overflow()


def test_an_error_among_the_pieces_of_a_stream_is_one() -> None:
    """Vendors send errors in mid-stream, after a status of 200."""
    pieces = [
        {"type": "message_start", "message": {"role": "assistant"}},
        {
            "type": "error",
            "error": {"message": "prompt is too long: 9 tokens > 4 maximum"},
        },
    ]
    assert answer_overflow(pieces) == Overflow(4, 9)
    assert answer_overflow(pieces[:1]) is None


@pytest.mark.parametrize(
    ("prompt", "estimated", "expected"),
    [
        (4_096, None, True),
        (4_060, None, True),
        (3_000, None, False),
        (3_000, 9_000, True),
        (3_000, 3_900, False),
    ],
)
def test_ollama_cuts_silently(
    prompt: int, estimated: int | None, *, expected: bool
) -> None:
    """A prompt as large as the window was cut, and so was one that could not fit."""
    answer = {"prompt_eval_count": prompt, "done": True}
    found = was_cut_silently(answer, window_tokens=4_096, estimated_tokens=estimated)
    assert found == expected
    assert not was_cut_silently({"done": True}, window_tokens=4_096)


# --- anything -------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["error", "message", "code", "body", "status", "x"]), inner
        )
    ),
    max_leaves=12,
)


@given(error=JSON)
def test_nothing_makes_it_raise(error: object) -> None:
    """Whatever an error looks like, the question has an answer."""
    is_context_overflow(error)
    answer_overflow(error)


def test_an_error_that_holds_itself_ends() -> None:
    """Circles are not followed for ever."""
    error: dict[str, Any] = {"message": "x"}
    error["error"] = error
    assert not is_context_overflow(error)
