"""One sign-in at an OIDC provider, held by the browser that began it.

All that the two redirects need follows from one random secret in that browser's cookie: the state,
the nonce and the PKCE verifier. No replica keeps anything, and nobody else's browser can finish it.
Pure.
"""

import base64
import hashlib
import hmac
from dataclasses import dataclass
from typing import Final

FLOW_SECONDS: Final = 600
FLOW_BYTES: Final = 32
_PATH_MAX: Final = 1000


@dataclass(frozen=True)
class Flow:
    """A sign-in under way."""

    secret: str
    return_to: str
    provider_id: str = ""  # of a tenant's provider

    @property
    def state(self) -> str:
        """Comes back with the answer, and shows that this browser asked this provider."""
        return self._derived(f"state:{self.provider_id}" if self.provider_id else "state")

    @property
    def nonce(self) -> str:
        """Comes back inside the ID token, and shows that it was made for this sign-in."""
        return self._derived("nonce")

    @property
    def verifier(self) -> str:
        """Redeems the code; who steals the code has not got it (PKCE)."""
        return self._derived("verifier")

    @property
    def challenge(self) -> str:
        """What the provider is told of the verifier beforehand."""
        return _text(hashlib.sha256(self.verifier.encode()).digest())

    @property
    def cookie(self) -> str:
        """What the browser keeps."""
        kept = f"{self.secret}.{_text(self.return_to.encode())}"
        return f"{kept}.{self.provider_id}" if self.provider_id else kept

    def _derived(self, purpose: str) -> str:
        return _text(hmac.digest(self.secret.encode(), purpose.encode(), "sha256"))


def flow_begin(randomness: bytes, return_to: str, provider_id: str = "") -> Flow:
    """A new sign-in that ends at a page of ours."""
    return Flow(_text(randomness), path_local(return_to), provider_id)


def flow_resume(cookie: str | None, state: str | None) -> Flow | None:
    """The sign-in this browser began, if this is its answer."""
    secret, _, rest = (cookie or "").partition(".")
    path, _, provider_id = rest.partition(".")
    if not secret or state is None:
        return None
    try:
        return_to = base64.urlsafe_b64decode(path + "=" * (-len(path) % 4)).decode()
    except ValueError:
        return None
    flow = Flow(secret, path_local(return_to), provider_id)
    return flow if hmac.compare_digest(flow.state.encode(), state.encode()) else None


def path_local(path: str) -> str:
    """The path if it leads to a page of ours, else the first page; never to another site."""
    printable = path.isascii() and path.isprintable() and "\\" not in path
    if printable and path.startswith("/") and path[1:2] != "/" and len(path) <= _PATH_MAX:
        return path
    return "/"


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
