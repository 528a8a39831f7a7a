"""Who answers: a vendor with its key, or the local scripted model.

Each vendor's key stands in a variable of its own, and goes to that vendor alone: the
SDKs of one shape would all look into the same one.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from context_builder.agent import OfflineModel
from context_builder.agent.drivers import Line, driver_for
from context_builder.cli.errors import InputError
from context_builder.inspector import EXAMPLES
from context_builder.limits import provider_of
from context_builder.render import adapter_for
from context_builder.summarizers import OpenAISummarizer

__all__ = [
    "HERE",
    "OFFLINE",
    "VENDORS",
    "Answerer",
    "NoKeyError",
    "Vendor",
    "chosen",
    "close_client",
    "keys_to_set",
    "open_client",
    "speak_to",
    "summarizer_for",
    "target_for",
    "without_secrets",
]

HERE = "chat"
"""What an error speaks of."""
OFFLINE = "offline"
_NO_KEY = "none"
"""What a server of one's own is given; it asks for none."""


@dataclasses.dataclass(frozen=True, slots=True)
class Vendor:
    """Where a vendor's client finds its key and its address."""

    keys: tuple[str, ...]
    """Variables; one of them is enough."""
    sdk_key: str = "OPENAI_API_KEY"
    """The variable that the SDK looks into."""
    sdk_url: str = "OPENAI_BASE_URL"
    url: str | None = None
    """The vendor's address, where the SDK is another vendor's."""
    extra: str | None = None
    """What installs the SDK; None: it is there."""

    @property
    def key(self) -> str | None:
        """The vendor's key, if one is set."""
        return next((os.environ[name] for name in self.keys if _is_set(name)), None)


_OPENAI = Vendor(("OPENAI_API_KEY",))
VENDORS: Mapping[str, Vendor] = {
    "openai": _OPENAI,
    "openai-responses": _OPENAI,
    "anthropic": Vendor(
        ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
        sdk_key="ANTHROPIC_API_KEY",
        sdk_url="ANTHROPIC_BASE_URL",
        extra="anthropic",
    ),
    "gemini": Vendor(
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        sdk_key="GEMINI_API_KEY",
        sdk_url="GOOGLE_GEMINI_BASE_URL",
        extra="gemini",
    ),
    "deepseek": Vendor(("DEEPSEEK_API_KEY",), url="https://api.deepseek.com"),
    "glm": Vendor(
        ("ZAI_API_KEY", "ZHIPUAI_API_KEY"), url="https://api.z.ai/api/paas/v4"
    ),
    "groq": Vendor(("GROQ_API_KEY",), url="https://api.groq.com/openai/v1"),
    "kimi": Vendor(("MOONSHOT_API_KEY",), url="https://api.moonshot.ai/v1"),
    "qwen": Vendor(
        ("DASHSCOPE_API_KEY",),
        url="https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
    ),
    "xai": Vendor(("XAI_API_KEY",), url="https://api.x.ai/v1"),
    "openai-compatible": _OPENAI,
}
"""The vendors that a chat can speak to."""
_EXAMPLES = {"openai": EXAMPLES["openai-responses"], **EXAMPLES}


@dataclasses.dataclass(frozen=True, slots=True)
class Answerer:
    """Who is asked."""

    target: str
    model: str
    base_url: str | None = None
    is_offline: bool = False

    @classmethod
    def offline(cls) -> Answerer:
        """Return the local scripted model."""
        return cls("openai", OfflineModel.name, is_offline=True)

    def __str__(self) -> str:
        if self.is_offline:
            return "offline (scripted, no model)"
        return f"{self.target} {self.model}"


def chosen(target: str | None, model: str | None, base_url: str | None) -> Answerer:
    """Return who is asked, where the user may have said only a part of it.

    Without a target it is the model's vendor, or the first one that has a key. Without
    a model it is a well-known one of the vendor.

    Raises:
        InputError: If there is no such vendor, no key, or no model to name.
    """
    if target is None:
        target = target_for(model, base_url) if model else _first_with_key(base_url)
    vendor = VENDORS.get(target)
    if vendor is None:
        known = ", ".join([*VENDORS, OFFLINE])
        raise InputError(HERE, f"{target!r} is not known; known are {known}")
    if vendor.key is None and not base_url:
        raise InputError(
            HERE,
            f"there is no key for {target}: set {' or '.join(vendor.keys)}, or use "
            f"--offline for a local scripted model that needs no key",
        )
    if target == "openai-compatible" and not (base_url or _is_set(vendor.sdk_url)):
        raise InputError(HERE, "openai-compatible needs an address: use --base-url")
    if model is None and not base_url:
        model = _EXAMPLES.get(target)
    if model is None:
        raise InputError(HERE, f"{target} serves many models: name one with --model")
    return Answerer(target, model, base_url)


def target_for(model: str, base_url: str | None = None) -> str:
    """Return the vendor that serves a model; of an unknown one, by its address."""
    provider = provider_of(model)
    for name in VENDORS if provider else ():
        served = adapter_for(name).capabilities.providers
        if provider == name or provider in served[:1]:
            return name
    return "openai-compatible" if base_url else "openai"


def _first_with_key(base_url: str | None) -> str:
    """Return the first vendor that has a key.

    Raises:
        InputError: If none has.
    """
    if base_url:
        return "openai-compatible"
    for name, vendor in VENDORS.items():
        if vendor.key is not None:
            return name
    raise NoKeyError(
        HERE,
        "no vendor's key is set: set one of those below, or use --offline for a local "
        "scripted model that needs no key",
    )


class NoKeyError(InputError):
    """Nobody can be asked: no vendor's key is set."""


def keys_to_set() -> str:
    """Say which variable holds which vendor's key, a line each."""
    names: dict[str, list[str]] = {}
    for target, vendor in VENDORS.items():
        names.setdefault(vendor.keys[0], []).append(target)
    width = max(map(len, names))
    return "\n".join(
        f"  {key.ljust(width)}  {', '.join(targets)}" for key, targets in names.items()
    )


# --- clients --------------------------------------------------------------------------


def open_client(who: Answerer) -> Any:
    """Return a client that is awaited.

    Raises:
        InputError: If the vendor's SDK is not installed.
    """
    if who.is_offline:
        return OfflineModel()
    vendor = VENDORS[who.target]
    with _surroundings(vendor, who.base_url):
        try:
            return driver_for(who.target).make_client(is_async=True)
        except ImportError as error:
            if vendor.extra is None:
                raise
            raise InputError(
                HERE,
                f"{who.target} needs its SDK: pip install "
                f"'context-builder[{vendor.extra}]'",
            ) from error


async def close_client(who: Answerer, client: Any) -> None:
    """Let go of a client's connections."""
    if not who.is_offline:
        await Line.of(driver_for(who.target), client, is_own=True).aclose()


@contextlib.contextmanager
def _surroundings(vendor: Vendor, base_url: str | None) -> Iterator[None]:
    """Have the environment say what this vendor's client shall read, for a moment."""
    wanted = _read_by_its_client(vendor, base_url)
    before = {name: os.environ.get(name) for name in wanted}
    _set(wanted)
    try:
        yield
    finally:
        _set(before)


def speak_to(target: str, base_url: str | None, here: str) -> None:
    """Have the environment say where a vendor is, and its key, from now on.

    That is for processes which make clients of this one vendor. What is OpenAI's is not
    shown to others.

    Args:
        target: The vendor.
        base_url: Another address of its interface; no key is needed there.
        here: The command that an error speaks of.

    Raises:
        InputError: If there is no such vendor, or no key for it.
    """
    vendor = VENDORS.get(target)
    if vendor is None:
        raise InputError(
            here, f"{target!r} is not known; known are {', '.join(VENDORS)}"
        )
    if vendor.key is None and not base_url:
        raise InputError(
            here,
            f"set {' or '.join(vendor.keys)} to speak to {target}, or use --offline "
            "for a local scripted model that needs no key",
        )
    _set(_read_by_its_client(vendor, base_url))


def _read_by_its_client(vendor: Vendor, base_url: str | None) -> dict[str, str | None]:
    """Return what the variables have to be that this vendor's client reads."""
    wanted: dict[str, str | None] = {}
    if vendor.url is not None:  # what is OpenAI's is not shown to others
        wanted |= dict.fromkeys(n for n in os.environ if n.startswith("OPENAI_"))
    if vendor.url is not None or vendor.key is None:
        wanted[vendor.sdk_key] = vendor.key or _NO_KEY
    if url := base_url or vendor.url:
        wanted[vendor.sdk_url] = url
    return wanted


def _set(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def summarizer_for(model: str, who: Answerer) -> OpenAISummarizer:
    """Return who writes summaries: a model of the vendor that is spoken to.

    Of a vendor that does not speak OpenAI's interface, and of the local model, it is
    OpenAI that is asked, or who is at its variable.

    Raises:
        InputError: If no key is set.
    """
    vendor = _OPENAI if who.is_offline else VENDORS[who.target]
    if vendor.sdk_url != _OPENAI.sdk_url:
        vendor = _OPENAI
    is_same = not who.is_offline and vendor is VENDORS[who.target]
    base_url = (who.base_url if is_same else None) or vendor.url
    key = vendor.key or (_NO_KEY if base_url else None)
    if key is None:
        raise InputError(HERE, f"set {' or '.join(vendor.keys)} for --summary-model")
    return OpenAISummarizer(model=model, base_url=base_url, api_key=key)


# --- secrets --------------------------------------------------------------------------

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD", re.IGNORECASE)
_LEAST_SECRET_CHARS = 6
_SECRET = re.compile(
    r"(?<=://)[^\s/@]+(?=@)|\b(?:sk|pk|rk|gsk|xai)[-_][\w*.-]{6,}|\bAIza[\w*-]{6,}|"
    r"(?<=Bearer )\S+"
)
"""A password in an address, and what looks like a key, also where it is half hidden."""


def without_secrets(text: str) -> str:
    """Return a text without the keys that the environment holds, or that it quotes."""
    for name, value in os.environ.items():
        if _SECRET_NAME.search(name) and len(value) >= _LEAST_SECRET_CHARS:
            text = text.replace(value, "***")
    return _SECRET.sub("***", text)


def _is_set(name: str) -> bool:
    return bool(os.environ.get(name, "").strip())
