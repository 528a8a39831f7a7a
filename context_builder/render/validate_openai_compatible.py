"""Checks a request against the rules of vendors that speak Chat Completions.

Written from the vendors' rules, not from the adapter: it shares no code with it. What a
vendor is strict about is a `FamilyRules`.
"""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING, Any

from context_builder.render.adapter import Problem
from context_builder.render.chat_rules import (
    Object,
    Problems,
    calls_of,
    check_alternation,
    check_arguments,
    check_blank,
    check_first_user,
    check_ids,
    check_keys,
    check_names,
    check_pairs,
    check_system,
    check_tools,
    numbered,
    says_nothing,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["COMPATIBLE_RULES", "FamilyRules", "validate_openai_compatible"]

_PARTS = frozenset({"text", "image_url"})


@dataclasses.dataclass(frozen=True, slots=True)
class FamilyRules:
    """What one vendor demands beyond Chat Completions."""

    system_role: bool = True
    tool_role: bool = True
    user_first: bool = True
    alternates: bool = False
    user_after_tool: bool = True
    parallel_calls: bool = True
    results_in_order: bool = False
    id_pattern: str = r"[a-zA-Z0-9_-]{1,40}"
    id_rule: str = "an id is 1 to 40 letters, digits, _ or -"
    named_roles: frozenset[str] = frozenset()
    reasoning_field: str | None = None
    reasoning_required: bool = False
    """Whether a message that calls must carry reasoning that is not empty."""
    refuses_reasoning: tuple[str, ...] = ()
    """Beginnings of models' names that refuse reasoning in the input."""
    null_is_omitted: bool = False
    """Whether a null is refused and the field has to be left out; otherwise a message
    that calls needs text for content, be it empty."""
    images: bool = True
    tool_choices: frozenset[str] = frozenset({"auto", "none", "required", "named"})
    json_schema: bool = True
    refused: frozenset[str] = frozenset({"max_completion_tokens", "functions"})
    """Arguments of the request that are refused."""


COMPATIBLE_RULES = FamilyRules()


def validate_openai_compatible(
    request: Mapping[str, Any], rules: FamilyRules = COMPATIBLE_RULES
) -> Sequence[Problem]:
    """Return the rules that a request breaks; empty: it is accepted."""
    return list(_problems(request, rules))


def _problems(request: Object, rules: FamilyRules) -> Problems:
    yield from check_keys(request, _known_fields(rules))
    yield from check_system(request, allowed=rules.system_role)
    yield from check_pairs(request, in_order=rules.results_in_order)
    yield from check_ids(request, re.compile(rules.id_pattern), rules.id_rule)
    yield from check_arguments(request, str)
    yield from check_names(request)
    yield from check_tools(request, {"name", "description", "parameters"})
    yield from check_blank(request, "user", "tool", "system")
    if rules.user_first:
        yield from check_first_user(request)
    if rules.alternates:
        yield from check_alternation(request, user_after_tool=rules.user_after_tool)
    yield from _contents(request, rules)
    yield from _assistants(request, rules)
    yield from _asked(request, rules)


def _known_fields(rules: FamilyRules) -> Mapping[str, frozenset[str]]:
    fields = {
        "system": {"role", "content"},
        "user": {"role", "content"},
        "assistant": {"role", "content", "tool_calls"},
        "tool": {"role", "content", "tool_call_id"},
    }
    if rules.reasoning_field:
        fields["assistant"].add(rules.reasoning_field)
    for role in rules.named_roles:
        fields[role].add("name")
    if not rules.tool_role:
        del fields["tool"]
        fields["assistant"].discard("tool_calls")
    return {role: frozenset(known) for role, known in fields.items()}


# --- contents -------------------------------------------------------------------------


def _contents(request: Object, rules: FamilyRules) -> Problems:
    for where, message in numbered(request):
        content = message.get("content")
        if content is None or isinstance(content, str):
            continue
        path = f"{where}.content"
        if message.get("role") != "user":
            yield Problem(path, "only a user message has parts", "Send one text.")
            continue
        kinds = [part.get("type") for part in content]
        if all(kind == "text" for kind in kinds):
            rule = "text alone is sent as one text, not as parts"
            yield Problem(path, rule, "Join the parts.")
        known = _PARTS if rules.images else {"text"}
        for number, kind in enumerate(kinds):
            if kind not in known:
                rule = f"a part of type {kind!r} is not known"
                yield Problem(f"{path}[{number}]", rule, "Describe it in words.")


def _assistants(request: Object, rules: FamilyRules) -> Problems:
    for where, message in numbered(request, "assistant"):
        calls = calls_of(message)
        yield from _assistant_content(message, where, rules)
        if len(calls) > 1 and not rules.parallel_calls:
            rule = "a message makes one call at most"
            yield Problem(f"{where}.tool_calls", rule, "Split it into pairs.")
        if rules.reasoning_field:
            yield from _reasoning(message, where, rules, request)


def _assistant_content(message: Object, where: str, rules: FamilyRules) -> Problems:
    content, calls = message.get("content"), calls_of(message)
    if says_nothing(content) and not calls:
        rule = "an assistant message has text or calls"
        yield Problem(where, rule, "Leave the message out.")
    elif rules.null_is_omitted:
        for key, value in message.items():
            if value is None:
                yield Problem(f"{where}.{key}", "it is not null", "Leave the key out.")
    elif content is None:
        rule = "content is text, be it empty"
        yield Problem(f"{where}.content", rule, 'Send "".')


def _reasoning(
    message: Object, where: str, rules: FamilyRules, request: Object
) -> Problems:
    path = f"{where}.{rules.reasoning_field}"
    said = message.get(rules.reasoning_field or "")
    model = str(request.get("model") or "").rpartition("/")[2]
    if model.startswith(rules.refuses_reasoning):
        if said is not None:
            yield Problem(path, "this model takes no reasoning back", "Leave it out.")
    elif rules.reasoning_required and calls_of(message) and not said:
        rule = "a message that calls carries its reasoning"
        yield Problem(path, rule, 'Send it back; where there is none, send " ".')


# --- arguments of the request ---------------------------------------------------------


def _asked(request: Object, rules: FamilyRules) -> Problems:
    for key in rules.refused:
        if request.get(key) is not None:
            yield Problem(key, "it is refused or not known here", "Leave it out.")
    for where, kind in _choice(request):
        if kind not in rules.tool_choices:
            yield Problem(where, f"{kind!r} is not a choice here", "Send auto.")
    wanted = request.get("response_format") or {}
    if wanted.get("type") == "json_schema" and not rules.json_schema:
        rule = "an answer cannot be held to a schema"
        yield Problem("response_format", rule, "Ask for json_object.")


def _choice(request: Object) -> Iterator[tuple[str, str]]:
    choice = request.get("tool_choice")
    if choice is not None:
        yield "tool_choice", choice if isinstance(choice, str) else "named"
        if not request.get("tools"):
            yield "tool_choice (without tools)", "a choice without tools"
