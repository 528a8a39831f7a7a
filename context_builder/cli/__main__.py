"""Runs the command line as `python -m context_builder.cli`."""

from context_builder.cli import main

if __name__ == "__main__":
    main()
