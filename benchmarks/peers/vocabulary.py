"""Gives every peer the vocabulary that ships with the library, without a network.

tiktoken looks for a file in a folder before it asks a server for one. The file's name
is a sum of the address that it would ask.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from context_builder.tokens.vocabularies import load_encoding

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["environment", "write_vocabularies"]

_FILE_NAMES = {
    "o200k_base": "fb374d419588a4632f3f557e76b4b70aebbca790",
    "cl100k_base": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
}


def write_vocabularies(folder: Path) -> Path:
    """Write the shipped vocabularies as tiktoken's own cache, where they are missing.

    tiktoken checks the sum of what it reads, so a wrong file would not go unseen.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, file_name in _FILE_NAMES.items():
        path = folder / file_name
        if path.exists():
            continue
        encoding = load_encoding(name)
        ranked = sorted(
            (encoding.encode_single_token(token), token)
            for token in encoding.token_byte_values()
        )
        lines = [b"%s %d\n" % (base64.b64encode(token), rank) for rank, token in ranked]
        part = path.with_suffix(".part")
        part.write_bytes(b"".join(lines))
        part.replace(path)
    return folder


def environment(folder: Path) -> dict[str, str]:
    """Return the variables that make tiktoken, and litellm's, read from a folder."""
    return {
        "TIKTOKEN_CACHE_DIR": str(folder),
        "DATA_GYM_CACHE_DIR": str(folder),
        "CUSTOM_TIKTOKEN_CACHE_DIR": str(folder),
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }
