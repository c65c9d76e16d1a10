"""How the platform, as a client, decides whom to trust: the system's certificate authorities."""

import ssl
from functools import cache


@cache
def client_context() -> ssl.SSLContext:
    """The context of every TLS connection the platform opens.

    Reading the system's authorities takes tens of milliseconds, so a process reads them once; one
    that is added later counts after a restart.
    """
    return ssl.create_default_context()
