"""The agent's entry: hands over to what was asked for, and loads nothing else.

A script's supervisor stays beside its script for as long as that runs, so it must be small.
"""

import sys
from collections.abc import Sequence
from importlib import import_module


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    module = "supervise" if words[:1] == ["exec"] else "command_line"
    found: int = import_module(f"gpuaas_agent.{module}").main(words)
    return found


if __name__ == "__main__":
    sys.exit(main())
