"""Rules of tenants' identity providers: who sets them up, what they need, how they are used.

A provider signs people in to accounts of its tenant, so the person who sets one up could act as any
of them. This takes all that a tenant's administrator may do there, as setting a password does.
"""

from collections import OrderedDict
from typing import Final

from gpuaas_contract.common import Page
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.federation import (
    IdentityProvider,
    IdentityProviderCreate,
    IdentityProviderUpdate,
    ProviderAction,
    ProviderState,
)
from gpuaas_contract.ids import Prefix
from gpuaas_contract.permissions import ROLES, Permission, RoleName
from gpuaas_platform.identity.groups import mapping_remove
from gpuaas_platform.identity.oidc import Provider, ProviderConfig, TokenRefused
from gpuaas_platform.identity.places import tenant_place
from gpuaas_platform.identity.rules import role_grants, stand_in_require
from gpuaas_platform.identity.store import federation as store
from gpuaas_platform.identity.store import tokens
from gpuaas_platform.kernel.call import Call, Platform
from gpuaas_platform.kernel.caller import Place
from gpuaas_platform.kernel.database import Record
from gpuaas_platform.kernel.etag import etag_headers, match_require
from gpuaas_platform.kernel.keyring import Keyring, keyring_of
from gpuaas_platform.kernel.outbound import Guard, guarded_client
from gpuaas_platform.kernel.paging import cursor_decode, page_of
from gpuaas_platform.kernel.problems import PlatformError, invalid, not_found
from gpuaas_platform.kernel.work import Answer, Happened, Target, Work

_KEPT: Final = 1000
_SECONDS: Final = 10.0


class Providers:
    """Tenants' providers in use by this process, each with its keys; a changed one is made anew."""

    def __init__(self, guard: Guard) -> None:
        self._http = guarded_client(guard, _SECONDS)
        self._kept: OrderedDict[tuple[str, int], Provider] = OrderedDict()

    async def close(self) -> None:
        """Close every connection."""
        await self._http.aclose()

    def provider(self, row: Record, keyring: Keyring) -> Provider:
        """The provider of a row."""
        key = (row["id"], row["revision"])
        found = self._kept.get(key)
        if found is None:
            found = self.fresh(_config(row, keyring))
            self._kept[key] = found
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return found

    def fresh(self, config: ProviderConfig) -> Provider:
        """A provider of which nothing is remembered."""
        return Provider(config, self._http)


async def provider_used(
    platform: Platform, providers: Providers, provider_id: str
) -> Provider | None:
    """A tenant's provider that people may sign in through; None when there is no such."""
    async with platform.db.connection() as conn:
        row = await store.provider_read(conn, provider_id)
    if row is None or not row["active"] or not row["home_active"]:
        return None
    return providers.provider(row, await keyring_of(platform))


async def provider_looked_at(
    call: Call, providers: Providers, org_id: str, given: IdentityProviderCreate
) -> str | None:
    """What is wrong with a provider that is to be made; before any transaction begins."""
    if not call.caller.allows(Permission.PROVIDER_MANAGE, Place(org_id)):
        return None  # refused where it would be made
    guard = Guard(call.platform.settings.provider_allowed_networks)
    wrong = guard.url_check(given.issuer)
    if wrong is not None:
        raise invalid("/issuer", wrong)
    config = ProviderConfig(
        issuer=given.issuer,
        name=given.name,
        client_id=given.client_id,
        client_secret=given.client_secret,
        scopes=given.scopes,
        groups_claim=given.groups_claim,
        create_users=given.create_users,
        trust_email=given.trust_email,
    )
    return await _problem(call, providers.fresh(config))


async def provider_create(
    org_id: str, given: IdentityProviderCreate, looked: tuple[str | None, Keyring], work: Work
) -> Answer[IdentityProvider]:
    """A new provider of a tenant."""
    problem, keyring = looked
    place = await tenant_place(work.conn, org_id)
    _manage_require(work, place)
    provider_id = work.new_id(Prefix.IDENTITY_PROVIDER)
    new = store.NewProvider(
        id=provider_id,
        org_id=org_id,
        name=given.name,
        issuer=given.issuer,
        client_id=given.client_id,
        client_secret=_sealed(keyring, provider_id, given.client_secret),
        scopes=given.scopes,
        groups_claim=given.groups_claim,
        create_users=given.create_users,
        trust_email=given.trust_email,
        problem=problem,
        created_by=work.call.caller.id,
        now=work.now,
    )
    made = provider_of(await store.provider_insert(work.conn, new))
    work.audit(Target("identity_provider", made.id, place, after=made))
    work.emit(Happened("identity.provider.created", made.id, place, _told(made)))
    return Answer(made, 201, etag_headers(made.revision))


async def provider_list(
    call: Call, org_id: str, cursor: str | None, limit: int
) -> Page[IdentityProvider]:
    """A tenant's providers."""
    async with call.db.connection() as conn:
        call.caller.require(Permission.PROVIDER_READ, await tenant_place(conn, org_id))
        rows = await store.providers_page(conn, org_id, cursor_decode(cursor), limit + 1)
    return page_of([provider_of(row) for row in rows], limit, lambda one: one.id)


async def provider_read(call: Call, provider_id: str) -> IdentityProvider:
    """One provider."""
    async with call.db.connection() as conn:
        row = await store.provider_read(conn, provider_id)
    if row is None:
        raise not_found("identity provider", provider_id)
    call.caller.require(Permission.PROVIDER_READ, Place(row["org_id"]))
    return provider_of(row)


async def provider_update(
    provider_id: str, given: IdentityProviderUpdate, keyring: Keyring, work: Work
) -> Answer[IdentityProvider]:
    """Change a provider; an inactive one signs no one in from now on."""
    row = await store.provider_lock(work.conn, provider_id)
    if row is None:
        raise not_found("identity provider", provider_id)
    place = Place(row["org_id"])
    work.require(Permission.PROVIDER_MANAGE, place)
    if given.model_fields_set != {"active"} or given.active:
        _manage_require(work, place)
    match_require(work.call, row["revision"])
    before = provider_of(row)
    change = given.model_dump(exclude_none=True)
    if given.client_secret is not None:
        change["client_secret"] = _sealed(keyring, provider_id, given.client_secret)
    after = provider_of(await store.provider_write(work.conn, provider_id, change))
    work.audit(Target("identity_provider", provider_id, place, before, after))
    kind = "updated"
    if before.active != after.active:
        kind = "activated" if after.active else "deactivated"
    work.emit(Happened(f"identity.provider.{kind}", provider_id, place, _told(after)))
    return Answer(after, 200, etag_headers(after.revision))


async def provider_found(call: Call, providers: Providers, provider_id: str) -> str | None:
    """What a look at a provider finds wrong; before any transaction begins."""
    async with call.db.connection() as conn:
        row = await store.provider_read(conn, provider_id)
    if row is None or not call.caller.allows(Permission.PROVIDER_MANAGE, Place(row["org_id"])):
        return None  # refused where the result is kept
    config = _config(row, await keyring_of(call.platform))
    return await _problem(call, providers.fresh(config))


async def provider_check(
    provider_id: str, problem: str | None, work: Work
) -> Answer[IdentityProvider]:
    """Keep what a look at a provider found."""
    row = await store.provider_lock(work.conn, provider_id)
    if row is None:
        raise not_found("identity provider", provider_id)
    place = Place(row["org_id"])
    work.require(Permission.PROVIDER_MANAGE, place)
    after = provider_of(await store.provider_checked(work.conn, provider_id, problem, work.now))
    work.audit(Target("identity_provider", provider_id, place, detail={"problem": problem or ""}))
    return Answer(after)


async def provider_delete(provider_id: str, work: Work) -> Answer[IdentityProvider]:
    """Remove a provider with its links and group mappings; who came through it is signed out."""
    row = await store.provider_lock(work.conn, provider_id)
    if row is None:
        raise not_found("identity provider", provider_id)
    place = Place(row["org_id"])
    work.require(Permission.PROVIDER_MANAGE, place)
    before = provider_of(row)
    people = await store.provider_people(work.conn, provider_id)
    for mapping_id in await store.provider_mappings(work.conn, provider_id):
        await mapping_remove(mapping_id, work)
    for user_id in people:
        keep = work.call.caller.token_id
        ending = tokens.Ending(user_id, work.now, keep, tokens=False)
        await tokens.credentials_end(work.conn, ending)
    await store.provider_delete(work.conn, provider_id)
    detail = {"people": len(people)}
    work.audit(Target("identity_provider", provider_id, place, before=before, detail=detail))
    work.emit(Happened("identity.provider.deleted", provider_id, place, _told(before)))
    return Answer(None, 204)


def provider_of(row: Record) -> IdentityProvider:
    """A provider as the contract shows it; nothing of its secret but that there is one."""
    state, action = _state(row)
    return IdentityProvider(
        id=row["id"],
        org_id=row["org_id"],
        name=row["name"],
        issuer=row["issuer"],
        client_id=row["client_id"],
        has_secret=row["client_secret"] is not None,
        scopes=row["scopes"],
        groups_claim=row["groups_claim"],
        create_users=row["create_users"],
        trust_email=row["trust_email"],
        active=row["active"],
        state=state,
        next_action=action,
        problem=row["problem"],
        checked_at=row["checked_at"],
        sign_in_path=f"/sign-in?provider={row['id']}",
        redirect_path=redirect_path(row["id"]),
        revision=row["revision"],
        created_by=row["created_by"],
        created_at=row["created_at"],
    )


def redirect_path(provider_id: str | None) -> str:
    """Where a provider sends the browser back to: each to a path of its own.

    With one path for all, a tenant's provider could send a browser to another provider and be given
    the code that comes back.
    """
    path = "/api/v1/auth/oidc/callback"
    return path if provider_id is None else f"{path}/{provider_id}"


def _state(row: Record) -> tuple[ProviderState, ProviderAction | None]:
    if not row["active"]:
        return ProviderState.INACTIVE, ProviderAction.ACTIVATE
    if not row["has_domain"]:
        return ProviderState.NEEDS_DOMAIN, ProviderAction.CLAIM_DOMAIN
    if row["problem"] is not None:
        return ProviderState.UNREACHABLE, ProviderAction.CHECK
    return ProviderState.READY, None


def _manage_require(work: Work, place: Place) -> None:
    work.require(Permission.PROVIDER_MANAGE, place)
    stand_in_require(work.call.caller, role_grants(ROLES[RoleName.TENANT_ADMIN], place))


async def _problem(call: Call, provider: Provider) -> str | None:
    try:
        await provider.check(call.platform.clock.now())
    except TokenRefused as error:
        return f"It does not describe itself as expected: {error}"[:500]
    except PlatformError as error:
        if error.code is not ErrorCode.UNAVAILABLE:
            raise
        return "It does not answer, or lies where tenants' providers may not be."
    return None


def _config(row: Record, keyring: Keyring) -> ProviderConfig:
    secret = None
    if row["client_secret"] is not None:
        secret = keyring.unseal(row["client_secret"], _context(row["id"])).decode()
    return ProviderConfig(
        issuer=row["issuer"],
        name=row["name"],
        client_id=row["client_id"],
        client_secret=secret,
        scopes=row["scopes"],
        groups_claim=row["groups_claim"],
        create_users=row["create_users"],
        trust_email=row["trust_email"],
        id=row["id"],
        org_id=row["org_id"],
    )


def _sealed(keyring: Keyring, provider_id: str, secret: str | None) -> bytes | None:
    return None if secret is None else keyring.seal(secret.encode(), _context(provider_id))


def _context(provider_id: str) -> str:
    return f"identity-provider:{provider_id}"


def _told(provider: IdentityProvider) -> dict[str, object]:
    return {"name": provider.name, "issuer": provider.issuer, "active": provider.active}
