"""Small helpers for calls to the API in tests."""


def bearer(token: str) -> dict[str, str]:
    """The header by which a token is presented."""
    return {"Authorization": f"Bearer {token}"}
