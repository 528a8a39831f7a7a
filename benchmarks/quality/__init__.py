"""What is kept of real conversations, and what it costs, beside plain recency."""
