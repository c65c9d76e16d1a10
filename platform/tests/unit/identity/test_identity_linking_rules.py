"""Which accounts a provider's word opens: one tenant's, at a proved address, once."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuaas_platform.identity.linking import (
    Account,
    Link,
    Proof,
    accounts_opened,
    domain_key,
    domain_of,
    home_of_newcomer,
    password_needed,
)
from gpuaas_platform.identity.oidc_flow import flow_begin, flow_resume

ORGS = st.sampled_from([None, "org_a", "org_b"])
PROOFS = st.builds(Proof, ORGS, st.booleans(), ORGS)
ACCOUNTS = st.builds(Account, st.just("user_x"), ORGS, st.booleans(), st.sampled_from(Link))


def account(org_id: str | None, link: Link = Link.NONE, *, password: bool = False) -> Account:
    return Account("user_x", org_id, password, link)


def opens(proof: Proof, one: Account) -> bool:
    return accounts_opened(proof, [one]) == [one]


@given(PROOFS, ACCOUNTS)
def test_a_tenants_provider_opens_accounts_of_that_tenant_only(proof: Proof, one: Account) -> None:
    if proof.org_id is not None and opens(proof, one):
        assert one.org_id == proof.org_id


@given(PROOFS, ACCOUNTS)
def test_what_is_not_linked_needs_a_proved_address_and_its_domain(
    proof: Proof, one: Account
) -> None:
    if one.link is not Link.THIS_PERSON and opens(proof, one):
        assert proof.address_proved
        assert one.link is Link.NONE
        assert one.org_id is None or one.org_id == proof.domain_org_id


@given(PROOFS, st.lists(ACCOUNTS, max_size=3))
def test_a_newcomer_gets_an_account_of_a_tenant_at_its_own_domain_only(
    proof: Proof, accounts: list[Account]
) -> None:
    home = home_of_newcomer(proof, accounts)
    if home is None:
        return
    (org_id,) = home
    assert all(one.org_id != org_id for one in accounts)
    if org_id is not None:
        assert proof.address_proved
        assert org_id == proof.domain_org_id
    if proof.org_id is not None:
        assert org_id == proof.org_id


def test_the_operators_provider_opens_the_platforms_accounts_and_those_at_claimed_domains() -> None:
    proved = Proof(None, True, "org_a")
    assert opens(proved, account(None))
    assert opens(proved, account("org_a"))
    assert not opens(proved, account("org_b"))
    assert opens(proved, account("org_b", Link.THIS_PERSON))
    assert not opens(Proof(None, False, "org_a"), account(None))


def test_a_tenants_provider_needs_the_domain() -> None:
    assert opens(Proof("org_a", True, "org_a"), account("org_a"))
    for proved, owner in product([True, False], [None, "org_b"]):
        assert not opens(Proof("org_a", proved, owner), account("org_a"))
    assert opens(Proof("org_a", False, None), account("org_a", Link.THIS_PERSON))
    assert not opens(Proof("org_a", True, "org_a"), account("org_a", Link.ANOTHER_PERSON))


def test_a_password_is_asked_for_once() -> None:
    assert password_needed(account("org_a", password=True))
    assert not password_needed(account("org_a", Link.THIS_PERSON, password=True))
    assert not password_needed(account("org_a"))


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("Example.ORG", "example.org"),
        (" example.org. ", "example.org"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("localhost", None),
        ("10.0.0.1", None),
        ("a..org", None),
        ("-a.org", None),
        ("a_b.org", None),
        ("x" * 64 + ".org", None),
        (".".join(["x" * 60] * 5), None),
        ("", None),
        ("a b.org", None),
    ],
)
def test_a_domain_is_compared_in_one_spelling(text: str, key: str | None) -> None:
    assert domain_key(text) == key
    assert domain_of(f"ada@{text}") == key


def test_a_sign_in_belongs_to_the_provider_it_was_begun_at() -> None:
    flow = flow_begin(b"r" * 32, "/", "idp_a")
    assert flow_resume(flow.cookie, flow.state) == flow
    assert flow_resume(flow.cookie.replace("idp_a", "idp_b"), flow.state) is None
    assert flow_resume(flow.cookie.removesuffix(".idp_a"), flow.state) is None
