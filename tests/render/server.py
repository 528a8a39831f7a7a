"""A server on this machine that plays every vendor: strict, and answering in form.

It checks each request with the vendor's validator, refuses what breaks a rule, and
keeps what it was sent. The first part of a path names the target.
"""

from __future__ import annotations

import base64
import json
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

from context_builder.render import validate
from tests.render.answers import ANSWERS, COUNTED, PIECES

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["VendorServer"]

Json = dict[str, Any]

_COUNTING: dict[str, Json] = {
    "/messages/count_tokens": {"input_tokens": COUNTED},
    "/responses/input_tokens": {
        "object": "response.input_tokens",
        "input_tokens": COUNTED,
    },
    ":countTokens": {"totalTokens": COUNTED},
    "/count-tokens": {"inputTokens": COUNTED},
    "/tokenizers/estimate-token-count": {"data": {"total_tokens": COUNTED}},
}
_KINDS = {
    "/chat/completions": "chat",
    "/responses": "responses",
    "/messages": "anthropic",
    "generateContent": "gemini",
    "streamGenerateContent": "gemini",
    "/converse": "bedrock",
    "/converse-stream": "bedrock",
    "/v2/chat": "cohere",
    "/api/chat": "ollama",
}


_STREAMING = frozenset({"stream", "stream_options"})


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, vendors: VendorServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.vendors = vendors

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that hang up: broken streams make them."""


class VendorServer:
    """Runs while it is used as a context manager."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, Json]] = []
        """Target and arguments of every request, in order."""
        self.refused: list[str] = []
        """What was wrong with the requests that were refused."""
        self.failures: list[tuple[int, Json]] = []
        """Errors for the next requests, status and body; taken from the front."""
        self.break_after: int | None = None
        """Break streams off after so many pieces."""
        self.http = _Server(self)

    def __enter__(self) -> Self:
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.http.shutdown()
        self.http.server_close()

    def url(self, target: str) -> str:
        """Return the address under which a target's API lies."""
        return f"http://127.0.0.1:{self.http.server_address[1]}/{target}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        """Answer one request."""
        assert isinstance(self.server, _Server)
        server = self.server.vendors
        path = urllib.parse.unquote(self.path.partition("?")[0])
        target, _, rest = path.removeprefix("/").partition("/")
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        arguments = _arguments(f"/{rest}", body)
        server.sent.append((target, arguments))
        if server.failures:
            self._send(*server.failures.pop(0))
            return
        for ending, counted in _COUNTING.items():
            if rest.endswith(ending.removeprefix("/")):
                self._send(200, counted)
                return
        if rest.endswith(("tokenize", "tokenize-text")):
            self._send(200, _tokenized(body["text"]))
            return
        problems = [str(problem) for problem in validate(arguments, target)]
        if problems:
            server.refused += problems
            message = "; ".join(problems)
            self._send(400, {"error": {"message": message}, "message": message})
            return
        self._answer(server, f"/{rest}", body, arguments)

    def _answer(
        self, server: VendorServer, path: str, body: Json, arguments: Json
    ) -> None:
        kind = next(kind for ending, kind in _KINDS.items() if path.endswith(ending))
        name = _first_tool(arguments)
        model = str(arguments.get("model") or arguments.get("modelId"))
        if body.get("stream") or "stream" in path.rpartition("/")[2]:
            self._stream(server, PIECES[kind](name, model))
        else:
            self._send(200, ANSWERS[kind](name, model))

    def _send(self, status: int, body: Json) -> None:
        said = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def _stream(self, server: VendorServer, pieces: Iterator[bytes]) -> None:
        types = {
            "converse-stream": "application/vnd.amazon.eventstream",
            "chat": "application/x-ndjson",
        }
        own = "text/event-stream"
        if not self.path.endswith("v2/chat"):
            own = types.get(self.path.rpartition("/")[2], own)
        self.send_response(200)
        self.send_header("Content-Type", own)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number, piece in enumerate(pieces):
            if number == server.break_after:
                self.close_connection = True  # the end of the chunks never comes
                return
            self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")


def _tokenized(text: str) -> Json:
    """Count words, as Cohere and as xAI say it."""
    words = text.split()
    ids = [{"token_id": n, "string_token": word} for n, word in enumerate(words)]
    numbers = list(range(len(words)))
    return {"tokens": numbers, "token_strings": words, "token_ids": ids}


def _arguments(path: str, body: Json) -> Json:
    """Return what the SDK's call was given, from what it sent."""
    body = {key: value for key, value in body.items() if key not in _STREAMING}
    if path.startswith("/model/"):
        model = path.removeprefix("/model/").rpartition("/")[0]
        return {"modelId": model, **_with_bytes(body)}
    if "/models/" in path:
        return {"model": path.rpartition("/models/")[2].partition(":")[0], **body}
    return body


def _with_bytes(value: Any) -> Any:
    """Turn base64 back into the bytes that the SDK was given."""
    if isinstance(value, list):
        return [_with_bytes(member) for member in value]
    if not isinstance(value, dict):
        return value
    return {
        key: base64.b64decode(member)
        if key in {"bytes", "redactedContent"}
        else _with_bytes(member)
        for key, member in value.items()
    }


def _first_tool(request: Json) -> str | None:
    """Return the name of the first tool that is offered, in any vendor's form."""
    offered = request.get("tools") or (request.get("toolConfig") or {}).get("tools")
    for tool in offered or ():
        inner = tool.get("function") or tool.get("toolSpec") or tool
        declared = inner.get("functionDeclarations") or [inner]
        return str(declared[0]["name"])
    return None
