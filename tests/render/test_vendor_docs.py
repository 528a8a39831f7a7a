"""The page about the vendors: each block runs with the SDK against a strict server."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from context_builder.render import adapter_names
from tests.render.answers import TEXT
from tests.render.clients import KEY
from tests.render.server import VendorServer

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).parents[2] / "docs" / "vendors.md"
SECTIONS = dict(
    section.split("\n", 1) for section in PAGE.read_text("utf-8").split("\n## ")
)
BLOCK = re.compile(r"^```py\n(.*?)^```", re.DOTALL | re.MULTILINE)
SETUP = next(text for head, text in SECTIONS.items() if head.startswith("#"))
TARGETS = [head for head in SECTIONS if not head.startswith("#")]

ADDRESSES = {
    "OPENAI_BASE_URL": "/v1",
    "ANTHROPIC_BASE_URL": "",
    "GOOGLE_GEMINI_BASE_URL": "",
    "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": "",
    "OLLAMA_HOST": "",
}
"""Where SDKs look for another address, and what they want behind it."""
KEYS = (
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "MISTRAL_API_KEY",
    "CO_API_KEY",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
)


@pytest.fixture
def server() -> Iterator[VendorServer]:
    """Give a server that plays every vendor."""
    with VendorServer() as running:
        yield running


def code_of(section: str) -> str:
    """Return the one block of a section."""
    (block,) = BLOCK.findall(section)
    return str(block)


def test_the_page_has_every_target() -> None:
    """Each once, each with what differs, ids, caching, reasoning and limits."""
    assert sorted(TARGETS) == list(adapter_names())
    for target in TARGETS:
        said = re.findall(r"^- (\w+): \S", SECTIONS[target], re.MULTILINE)
        assert said == ["Differs", "Ids", "Caching", "Reasoning", "Limits"], target


@pytest.mark.parametrize("target", TARGETS)
def test_a_vendors_block_runs(
    server: VendorServer, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The request is accepted, and the answer is in the session."""
    url = server.url(target)
    for name, behind in ADDRESSES.items():
        monkeypatch.setenv(name, url + behind)
    for name in KEYS:
        monkeypatch.setenv(name, KEY)
    code = code_of(SECTIONS[target])
    code = re.sub(r'base_url="[^"]+"', f'base_url="{url}/v1"', code)
    code = code.replace("Mistral(", f'Mistral(server_url="{url}", ')
    code = code.replace("ClientV2(", f'ClientV2(base_url="{url}"')
    space: dict[str, Any] = {}
    exec(compile(code_of(SETUP), "setup", "exec"), space)  # noqa: S102  the page is ours
    exec(compile(code, target, "exec"), space)  # noqa: S102
    assert server.refused == []
    assert [name for name, _ in server.sent] == [target]
    assert "What is a sonnet?" in str(server.sent)
    assert space["ctx"].items[-1].text == TEXT
    _close(space["client"])


def _close(client: Any) -> None:
    """Close a client, whichever way it has."""
    for path in ("close", "_client.close", "_client_wrapper.httpx_client.httpx_client"):
        found: Any = client
        for name in path.split("."):
            found = getattr(found, name, None)
        if found is not None:
            (found if callable(found) else found.close)()
            return
    client.__exit__(None, None, None)
