"""`context-builder chat`: a conversation in the terminal, and what its model sees.

It reads lines, shows answers and keeps sessions. What a model sees is the builder's
decision, and the loop is the agent's: nothing of either is decided here.
"""

from context_builder.cli.chat.command import chat

__all__ = ["chat"]
