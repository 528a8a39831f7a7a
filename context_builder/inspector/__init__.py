"""The window into a session: what the model sees of it, and why, as plain data.

A page shows it, on its own or beside a chat. Nothing here decides anything: it asks the
builder, and says the answers in a form that JSON can carry.
"""

from context_builder.inspector.differences import Difference, difference
from context_builder.inspector.models import EXAMPLES, model_for
from context_builder.inspector.page import page, static_file
from context_builder.inspector.plans import Plans, budget_grid, plan_of
from context_builder.inspector.requests import Replay, SentRequest, Timeline
from context_builder.inspector.standalone import standalone_data
from context_builder.inspector.window import item_text, items_of, window_of

__all__ = [
    "EXAMPLES",
    "Difference",
    "Plans",
    "Replay",
    "SentRequest",
    "Timeline",
    "budget_grid",
    "difference",
    "item_text",
    "items_of",
    "model_for",
    "page",
    "plan_of",
    "standalone_data",
    "static_file",
    "window_of",
]
