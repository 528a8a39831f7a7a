"""What came back from a vendor corrects what is sent next: bills and stated limits."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from context_builder.collect import Usage, read_usage
from context_builder.collect.plain import need_text, need_tokens
from context_builder.engine import Engine
from context_builder.errors import InvalidItemError
from context_builder.items import LimitLearned, UsageRecorded
from context_builder.limits import provider_of
from context_builder.render import adapter_for

if TYPE_CHECKING:
    from context_builder.collect import Reply
    from context_builder.targets import Target

__all__ = ["Feedback"]


class Feedback(Engine):
    """Takes in what a vendor said about a request; each is an event of the session."""

    _bill_taken: UsageRecorded | None = None
    """The bill that came with the last answer; told once more, it is no news."""

    def record_usage(
        self, usage: object, *, target: str | None = None, model: str | None = None
    ) -> None:
        """Take in what a vendor billed for the last request; it corrects the estimate.

        It is an event of the session, and counts from there. Where tokens are counted
        exactly, no count changes. More than the budget allows is a reason to compact.
        `add_response` does this by itself; the same bill once more changes nothing.

        Args:
            usage: The answer, what it says of usage (`answer.usage`), or the number
                of input tokens that were billed, cached ones included.
            target: The vendor that was asked; None: the one that was built for last.
            model: The model that was asked; None: the one that was built for last.

        Raises:
            InvalidItemError: If it holds no number of tokens, or nothing was built yet.
        """
        billed_tokens = need_tokens(_billed(usage), "usage")
        with self._lock:
            key = self._built
            if target is not None:
                key = self._target_key(target, model, None)
            asked = None if key is None else self._targets.get(key)
            estimated_tokens = None if asked is None else asked.rendered_tokens
            if asked is None or estimated_tokens is None:
                message = "no request was built that this could be the bill of"
                raise InvalidItemError(message, field="usage")
            if asked.key.model is None:
                message = "a bill belongs to a model: pass model= when building"
                raise InvalidItemError(message, field="model")
            bill = UsageRecorded(asked.key.model, billed_tokens, estimated_tokens)
            if bill != self._bill_taken:
                self._append(bill)

    def _take_bill(self, reply: Reply) -> None:
        """Take in the bill of an answer, if it is that of the request built last."""
        asked, self._bill_taken = self._answered(), None
        if asked is None or asked.key.model is None or reply.usage is None:
            return
        billed_tokens, estimated_tokens = _billed(reply.usage), asked.rendered_tokens
        if estimated_tokens is None or not _can_be_of(reply.model, asked.key.model):
            return
        with contextlib.suppress(InvalidItemError):  # no answer is lost for its bill
            bill = UsageRecorded(
                asked.key.model, need_tokens(billed_tokens, "usage"), estimated_tokens
            )
            self._append(bill)
            self._bill_taken = bill

    def _answered(self) -> Target | None:
        """Return whose request is answered now: once, and only as it was built."""
        unanswered, self._unanswered = self._unanswered, None
        if unanswered is None:
            return None
        key, revision = unanswered
        asked = self._targets.get(key)
        return asked if asked and asked.rendered_revision == revision else None

    def _asked_model(self, provider: str) -> str | None:
        key = self._built
        if key is None or adapter_for(key.name).capabilities.reasoning != provider:
            return None
        return key.model

    def learn_limit(self, model: str, limit_tokens: int) -> None:
        """Remember how much a model really takes, as its vendor's error said.

        Raises:
            InvalidItemError: If it is no model's name, or no number of tokens.
        """
        with self._lock:
            self._append(
                LimitLearned(
                    need_text(model, "model"), need_tokens(limit_tokens, "limit_tokens")
                )
            )


def _billed(usage: object) -> object:
    """Return the input tokens that an answer or its usage names."""
    if isinstance(usage, int):
        return usage
    found = usage if isinstance(usage, Usage) else read_usage(usage)
    return None if found is None else found.input_tokens


def _can_be_of(answered: str | None, asked: str) -> bool:
    """Say whether a model's answer can be one to a request for another model's name.

    Vendors add dates to names, and gateways have names of their own.
    """
    served = {provider_of(name) for name in (answered, asked) if name}
    return len(served - {None}) <= 1
