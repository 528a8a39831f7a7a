from __future__ import annotations

import pytest

from context_builder.render import adapter_for, adapter_names
from tests.render.conversations_chat import prompt
from tests.render.media import MODELS, chats, kept, parts, shown


@pytest.mark.parametrize("target", MODELS)
def test_each_kind_of_part_is_said_as_the_vendor_has_it(target: str) -> None:
    """Pictures, files, films and sound, by address, data and id: word for word."""
    assert shown(target) == kept()[target]


@pytest.mark.parametrize("target", adapter_names())
def test_each_kind_of_part_makes_a_valid_request(target: str) -> None:
    """Whoever says it, and whatever is in it."""
    adapter = adapter_for(target)
    refused = {}
    for name, part in parts():
        for place, chat in chats(part).items():
            asked = prompt(*chat, model=MODELS.get(target))
            found = adapter.validate(adapter.render(asked).request)
            if found := [one for one in found if one.where not in {"model", "modelId"}]:
                refused[name, place] = [str(one) for one in found]
    assert refused == {}


@pytest.mark.parametrize("target", adapter_names())
def test_each_kind_of_part_is_counted_as_it_is_sent(target: str) -> None:
    """Fixed costs and the items' own are at least what the request is counted as."""
    adapter, model = adapter_for(target), MODELS.get(target)
    for name, part in parts():
        for place, chat in chats(part).items():
            asked = prompt(*chat, model=model)
            fixed = sum(adapter.fixed_tokens(asked, len).values())
            own = sum(
                adapter.item_tokens(item, len, model=model) for item in asked.items
            )
            whole = adapter.request_tokens(adapter.render(asked).request, len)
            assert whole <= fixed + own, (name, place)
