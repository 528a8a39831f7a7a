"""Coverage-guided fuzzing: input that nobody would write, found by what it reaches."""
