"""`gpuaas`: the command line. Help, version and completion are answered before anything is loaded.

Exit codes: 0 ok, 1 client, 2 server, 3 auth, 4 not found, 5 conflict, 6 operation failed.
"""

import gc
import sys
from collections.abc import Sequence
from importlib import import_module
from itertools import takewhile

from gpuaas_cli.surface import command_at

_HELP = {"--help", "-h"}
_COMPLETE = "__complete"  # what the scripts of `completion.py` call


def main() -> None:
    """Entry point of the command."""
    gc.set_threshold(50_000)  # nearly all that a start makes is kept: looking for waste finds none
    sys.exit(called(sys.argv[1:]))


def called(words: Sequence[str]) -> int:
    """Run a command line and return its exit code."""
    first = words[0] if words else ""
    if first == "--version":
        sys.stdout.write(f"gpuaas {import_module('importlib.metadata').version('gpuaas-cli')}\n")
        return 0
    if first == _COMPLETE:
        return _answered("completion", "answer", words[1:])
    asked, rest = command_at(words)
    own = list(takewhile(lambda word: word != "--", rest))
    whole = not asked.verbs or not own or own[0] in _HELP  # nothing was said that nobody knows
    if whole and (asked.verbs or _HELP & set(own)):
        sys.stdout.write(import_module("gpuaas_cli.help_text").help_text(asked))
        return 0
    return _answered("quick", "run", words)


def _answered(module: str, function: str, words: Sequence[str]) -> int:
    """Load only what this command line needs, and let it answer."""
    code: int = getattr(import_module(f"gpuaas_cli.{module}"), function)(words)
    return code
