"""Every kind of part, and how each vendor is shown it, word for word.

`python -m tests.render.media` writes the words anew, to be read before they are kept.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from context_builder.messages import AudioPart, FilePart, ImagePart, TextPart, ToolCall
from context_builder.render import adapter_for
from tests.render.conversations_chat import PIXEL, assistant, prompt, result, user

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from context_builder.items import ContextItem
    from context_builder.messages import Part

WORDS = Path(__file__).parents[1] / "data" / "media.json"
MODELS: Mapping[str, str | None] = {
    "anthropic": "claude-sonnet-4-5",
    "bedrock": "anthropic.claude-sonnet-4-5-20250929-v1:0",
    "cohere": "command-a-03-2025",
    "gemini": "gemini-3-pro-preview",
    "mistral": "mistral-large-latest",
    "ollama": "llama3.1",
    "openai": "gpt-4o",
    "openai-compatible": None,
    "openai-responses": "gpt-4o",
}
PDF = base64.b64encode(b"%PDF-1.4").decode()
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
ADDRESSES = ("http://a.test/b", "https://a.test/b", "gs://a/b", "s3://a/b")
IDS = ("file-1", "file_011")


def parts() -> Iterator[tuple[str, Part]]:
    """Yield each kind of part by its name."""
    for kind, data in (
        ("png", PIXEL), ("jpeg", "/9j/AAAA"), ("gif", "R0lGODlh"),
        ("webp", "UklGRgAA"), ("tiff", "SUkqAA=="), ("svg+xml", "PHN2Zz4="),
        ("heic", "AAAA"),
    ):  # fmt: skip
        yield kind, ImagePart(data=data, media_type=f"image/{kind}")
    yield "a picture of no type", ImagePart(data=PIXEL)
    yield "an empty picture", ImagePart(data="", media_type="image/png")
    for detail in ("low", "high", "original"):
        yield f"{detail} detail", ImagePart(data=PIXEL, detail=detail)
    for address in ADDRESSES:
        yield f"{address}.png", ImagePart(url=f"{address}.png")
        yield f"{address}.pdf", FilePart(url=f"{address}.pdf")
    yield "film at gs", FilePart(url="gs://a/b", media_type="video/mp4")
    for file_id in IDS:
        yield f"picture {file_id}", ImagePart(file_id=file_id)
        yield f"document {file_id}", FilePart(file_id=file_id)
    for kind, data in (
        ("application/pdf", PDF), ("text/csv", "YSxi"), (DOCX, "UEsDBA=="),
        ("application/zip", "UEsDBA=="), ("video/mp4", "AAAA"), ("audio/wav", "AAAA"),
        ("image/png", PIXEL), ("text/plain", "!"),
    ):  # fmt: skip
        yield f"file {kind}", FilePart(data=data, media_type=kind)
    yield "a named file", FilePart(data=PDF, filename="a (1).pdf")
    yield "a named table", FilePart(data="YSxi", filename="a.CSV")
    yield "a file of no type", FilePart(data=PDF)
    yield "an empty file", FilePart(data="", media_type="application/pdf")
    yield "text", FilePart(text="said", filename="a.txt")
    yield "text without a name", FilePart(text="said")
    yield "blank text", FilePart(text=" ")
    for kind in ("wav", "x-wav", "mp3", "mpeg", "ogg", "flac; rate=16000"):
        yield f"sound {kind}", AudioPart(data="AAAA", media_type=f"audio/{kind}")
    yield "no sound", AudioPart(data="")


CALL = ToolCall("callcall1", "look", "{}")
SEE = TextPart(text="see")


def chats(part: Part) -> Mapping[str, tuple[ContextItem, ...]]:
    """Return conversations in which a part stands in each place, and never alone."""
    asked = user("?")
    return {
        "user": (user((SEE, part)),),
        "result": (asked, assistant("", CALL), result(CALL, (SEE, part))),
        "assistant": (asked, assistant((SEE, part)), user("!")),
    }


def shown(target: str) -> dict[str, str]:
    """Return what a vendor is shown of each part: of the user's, and of a result.

    As JSON in one line, so that a line of the file is a part.
    """
    adapter = adapter_for(target)
    words = {}
    for name, part in parts():
        said = []
        for place, skipped in (("user", 0), ("result", 2)):
            asked = prompt(*chats(part)[place], model=MODELS[target])
            messages = adapter.render(asked).messages[skipped:]
            said.append(_plain(messages))
        words[name] = json.dumps(said)
    return words


def _plain(value: Any) -> Any:
    """Return data as JSON has it, short, and without the prompt-cache marks."""
    if isinstance(value, dict):
        kept = {k: v for k, v in value.items() if k != "cache_control"}
        return {key: _plain(inner) for key, inner in kept.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value if "cachePoint" not in inner]
    if isinstance(value, bytes):
        return f"bytes of {base64.b64encode(value).decode()[:9]}"
    return value.replace(PIXEL, "PIXEL") if isinstance(value, str) else value


def kept() -> dict[str, dict[str, str]]:
    """Return the words as they were read and kept."""
    words: dict[str, dict[str, str]] = json.loads(WORDS.read_text("utf-8"))
    return words


if __name__ == "__main__":
    WORDS.write_text(
        json.dumps({target: shown(target) for target in MODELS}, indent=1) + "\n",
        "utf-8",
    )
