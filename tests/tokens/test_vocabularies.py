from __future__ import annotations

import hashlib
import lzma
import subprocess
import sys
from importlib.resources import files
from threading import Thread

import pytest

from context_builder.errors import ContextBuilderError
from context_builder.tokens import vocabularies
from context_builder.tokens.vocabularies import (
    encoding_names,
    load_encoding,
    vocabulary_name,
)

SHA256 = {
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
}


@pytest.mark.parametrize("name", SHA256)
def test_the_shipped_file_is_the_one_tiktoken_downloads(name: str) -> None:
    """Uncompressed, a vocabulary is the published file, byte for byte."""
    packed = files("context_builder.tokens") / "vocabularies" / f"{name}.tiktoken.xz"
    ranks = lzma.decompress(packed.read_bytes())
    assert hashlib.sha256(ranks).hexdigest() == SHA256[name]


@pytest.mark.parametrize(
    ("name", "text", "tokens"),
    [
        ("o200k_base", "hello world", [24912, 2375]),
        ("cl100k_base", "hello world", [15339, 1917]),
    ],
)
def test_known_tokens(name: str, text: str, tokens: list[int]) -> None:
    """The ids are the ones that are published for these texts."""
    assert load_encoding(name).encode_ordinary(text) == tokens


def test_an_encoding_is_loaded_once() -> None:
    """Every caller of the process shares one encoding, whichever thread it is in."""
    found: list[object] = []
    threads = [
        Thread(target=lambda: found.append(load_encoding("o200k_base")))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(map(id, found))) == 1


def test_harmony_counts_as_o200k() -> None:
    """gpt-oss differs in special tokens only, so it needs no file of its own."""
    assert vocabulary_name("o200k_harmony") == "o200k_base"
    assert load_encoding("o200k_harmony") is load_encoding("o200k_base")


def test_an_unknown_encoding_is_refused_with_the_known_ones() -> None:
    """A name that is not shipped is an error that says what there is."""
    with pytest.raises(ContextBuilderError, match="o200k_base") as caught:
        vocabulary_name("p50k_base")
    assert all(name in str(caught.value) for name in encoding_names())


@pytest.mark.parametrize("damage", [b"", b"no xz at all", lzma.compress(b"YQ== 0\n")])
def test_a_damaged_file_is_named_as_such(
    damage: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that is cut, not xz, or another one never gives wrong counts."""
    monkeypatch.setattr(vocabularies, "_read", lambda _name: damage)
    with pytest.raises(ContextBuilderError, match="damaged"):
        vocabularies._build.__wrapped__("cl100k_base")


def test_a_missing_file_is_named_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package without its vocabularies says so, and what to do."""
    monkeypatch.setattr(vocabularies, "files", lambda _package: _Nowhere())
    with pytest.raises(ContextBuilderError, match="cannot be read"):
        vocabularies._read("cl100k_base")


class _Nowhere:
    def __truediv__(self, _name: str) -> _Nowhere:
        return self

    def read_bytes(self) -> bytes:
        raise FileNotFoundError


def test_importing_reads_nothing_and_loads_no_tokenizer() -> None:
    """Who imports the counters pays for neither tiktoken nor a vocabulary or table."""
    program = (
        "import sys; opened = []\n"
        "hook = lambda event, args: event == 'open' and opened.append(str(args[0]))\n"
        "sys.addaudithook(hook)\n"
        "import context_builder.tokens\n"
        "assert 'tiktoken' not in sys.modules\n"
        "data = [file for file in opened if file.endswith(('.xz', '.json'))]\n"
        "assert not data, data\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
