"""Other libraries that keep a conversation within a budget, each in its own process."""
