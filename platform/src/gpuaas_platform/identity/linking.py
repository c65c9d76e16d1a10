"""Which accounts a sign-in at an identity provider opens, as pure rules.

A provider is one tenant's, or the operator's. A tenant's provider opens accounts of that tenant
only. The operator's opens accounts of the platform, and those of a tenant at addresses of a domain
which that tenant has claimed. An account that is linked opens by the link; any other needs the
address, proved by the provider.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

_LABEL: Final = re.compile(r"(?!-)[a-z0-9-]{1,63}(?<!-)")
_DOMAIN_MAX: Final = 253


class Link(StrEnum):
    """Whether an account is linked to the person at the provider."""

    NONE = "none"
    THIS_PERSON = "this_person"
    ANOTHER_PERSON = "another_person"


@dataclass(frozen=True)
class Proof:
    """What a provider has shown: whose it is, and whether the address is the person's.

    `domain_org_id` is the tenant that has claimed the address's domain.
    """

    org_id: str | None
    address_proved: bool
    domain_org_id: str | None


@dataclass(frozen=True)
class Account:
    """An account the person is linked to, or that has their address."""

    user_id: str
    org_id: str | None
    has_password: bool
    link: Link


def accounts_opened(proof: Proof, accounts: Iterable[Account]) -> list[Account]:
    """The accounts this proof opens, each perhaps after its password."""
    return [account for account in accounts if _opens(proof, account)]


def password_needed(account: Account) -> bool:
    """Whether to link the account takes its password, or the end of that password.

    Another person may have set it, and could still sign in with it.
    """
    return account.has_password and account.link is not Link.THIS_PERSON


def home_of_newcomer(proof: Proof, accounts: Iterable[Account]) -> tuple[str | None] | None:
    """The tenant (or the platform) of an account to be made; None when none may be made.

    A tenant gets accounts only at its own domain. No account is made beside one that has the
    address there already.
    """
    claimed = proof.domain_org_id if proof.address_proved else None
    if proof.org_id is not None and claimed != proof.org_id:
        return None
    if any(account.org_id == claimed for account in accounts):
        return None
    return (claimed,)


def domain_key(text: str) -> str | None:
    """A domain as it is compared, in ASCII; None when it is no domain of addresses."""
    try:
        plain = text.strip().rstrip(".").casefold().encode("idna").decode()
    except UnicodeError:
        return None
    labels = plain.split(".")
    if len(labels) < 2 or len(plain) > _DOMAIN_MAX or labels[-1].isdigit():
        return None
    return plain if all(_LABEL.fullmatch(label) for label in labels) else None


def domain_of(email: str) -> str | None:
    """The domain of an address."""
    return domain_key(email.rpartition("@")[2])


def _opens(proof: Proof, account: Account) -> bool:
    if proof.org_id is not None and account.org_id != proof.org_id:
        return False
    if account.link is Link.THIS_PERSON:
        return True
    if account.link is Link.ANOTHER_PERSON or not proof.address_proved:
        return False
    if account.org_id is None:
        return proof.org_id is None
    return account.org_id == proof.domain_org_id
