"""What is read from whoever typed the command: an answer, a password, a body on standard input.

Called wherever a command reads. Ctrl-C ends the command there too: the event loop would only note
it and let the read go on. Nothing else runs meanwhile.
"""

import getpass
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager


def line_read(prompt: str = "") -> str:
    """One line, without its end."""
    if prompt:
        sys.stderr.write(prompt)
        sys.stderr.flush()
    with _interruptible():
        return sys.stdin.readline().rstrip("\r\n")


def text_read() -> str:
    """All of standard input."""
    with _interruptible():
        return sys.stdin.read()


def password_read() -> str:
    """A password, not shown while it is typed."""
    with _interruptible():
        return getpass.getpass("password: ")


def code_read() -> str:
    """A code of a second factor; it works once, so it may be seen."""
    return line_read("code of your authenticator app, or a recovery code: ").strip()


@contextmanager
def _interruptible() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
