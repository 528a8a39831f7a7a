"""What the models that Bedrock hosts differ in, as data, by the name of the model."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Host", "host_of"]


@dataclasses.dataclass(frozen=True, slots=True)
class Host:
    """What a family of hosted models takes. The defaults are accepted by all."""

    takes_status: bool = False
    """Whether a result can be flagged as an error; otherwise its text says so."""
    media_in_results: bool = False
    """Whether a result may hold pictures and documents."""
    results_alone: bool = False
    """Whether nothing else may stand in the turn that holds results."""
    caches: bool = False
    """Whether prefixes can be cached ..."""
    caches_tools: bool = False
    """... and the tools apart from the rest."""
    keeps_reasoning: bool = False
    """Whether the model takes its own signed reasoning back."""


_HOSTS: Mapping[str, Host] = {
    "claude": Host(
        takes_status=True,
        media_in_results=True,
        caches=True,
        caches_tools=True,
        keeps_reasoning=True,
    ),
    "nova": Host(
        takes_status=True, media_in_results=True, caches=True, keeps_reasoning=True
    ),
    "llama": Host(results_alone=True),
    "mistral": Host(results_alone=True),
    "pixtral": Host(results_alone=True),
}


def host_of(model: str | None) -> Host:
    """Return what a model takes; an unknown one gets what all accept."""
    name = (model or "").lower()
    return next((host for word, host in _HOSTS.items() if word in name), Host())
