"""`gpuaas`: the command line. Help, version and completion are answered before anything is loaded.

Exit codes: 0 ok, 1 client, 2 server, 3 auth, 4 not found, 5 conflict, 6 operation failed; as shells
have it, 130 after Ctrl-C and 141 when whoever read the output has gone.
"""

import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from itertools import takewhile

_HELP = {"--help", "-h"}
_COMPLETE = "__complete"  # what the scripts of `completion.py` call
_INTERRUPTED = 130
_READER_GONE = 141


def main() -> None:
    """Entry point of the command: whatever becomes of its output, there is no traceback."""
    gc.set_threshold(50_000)  # nearly all that a start makes is kept: looking for waste finds none
    _streams_open()
    try:
        code = called(sys.argv[1:])
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = _INTERRUPTED
    except BrokenPipeError:
        code = _READER_GONE
    except OSError as error:
        sys.stderr.write(f"error: {error.filename or 'the output'}: {error.strerror or error}\n")
        code = 1
    _output_drop()
    sys.exit(code)


def called(words: Sequence[str]) -> int:
    """Run a command line and return its exit code."""
    first = words[0] if words else ""
    if first == "--version":
        sys.stdout.write(f"gpuaas {import_module('importlib.metadata').version('gpuaas-cli')}\n")
        return 0
    if first == _COMPLETE:
        return _answered("completion", "answer", words[1:])
    asked, rest = import_module("gpuaas_cli.surface").command_at(words)
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


def _streams_open() -> None:
    """Let nothing about the terminal end a command: marks it cannot show become question marks."""
    if sys.stdin is None:
        sys.stdin = os.fdopen(os.open(os.devnull, os.O_RDONLY))
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by whoever called us
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))
        else:
            stream.reconfigure(errors="replace")


def _output_drop() -> None:
    """Write what could not be written to nowhere: the interpreter would fail with it at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
