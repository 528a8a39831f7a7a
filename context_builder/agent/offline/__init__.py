"""The offline model: for demonstrations and tests, named as what it is."""

from context_builder.agent.offline.answering import OfflineReply, Scripted
from context_builder.agent.offline.calling import Wanted
from context_builder.agent.offline.model import OfflineModel

__all__ = ["OfflineModel", "OfflineReply", "Scripted", "Wanted"]
