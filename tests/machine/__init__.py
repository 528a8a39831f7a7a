"""A session used in any order by any door, and what must hold after every step."""
