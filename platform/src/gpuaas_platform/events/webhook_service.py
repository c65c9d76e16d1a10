"""Rules of webhooks: who may have them, where they may point, their secrets, second chances."""

from datetime import datetime, timedelta
from functools import partial
from typing import Final
from urllib.parse import urlsplit

from fastapi import Response

from gpuaas_contract.common import Page
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.events import (
    DeliveryStatus,
    Redelivered,
    Webhook,
    WebhookCreate,
    WebhookDelivery,
    WebhookFilter,
    WebhookStatus,
    WebhookUpdate,
    WebhookWithSecret,
)
from gpuaas_contract.ids import Prefix
from gpuaas_contract.permissions import Permission
from gpuaas_platform.events.signing import SECRET_BYTES, secret_text
from gpuaas_platform.events.store import sequence, webhooks
from gpuaas_platform.events.store.webhooks import HookRow
from gpuaas_platform.identity.places import project_place, tenant_place
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import Place
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.etag import etag_headers, match_require
from gpuaas_platform.kernel.keyring import Keyring, keyring_of
from gpuaas_platform.kernel.outbound import Guard
from gpuaas_platform.kernel.paging import cursor_decode, page_of
from gpuaas_platform.kernel.problems import PlatformError, invalid, not_found
from gpuaas_platform.kernel.settings import Settings
from gpuaas_platform.kernel.work import Answer, Happened, Target, Work, mutate

_PER_PLACE: Final = 50
_OVERLAP: Final = timedelta(hours=24)


async def webhook_create(call: Call, where: Place, body: WebhookCreate) -> Response:
    """Add a webhook to a project (or to a tenant, where `where` names no project)."""
    keyring = await keyring_of(call.platform)
    handler = partial(_create, where=where, body=body, keyring=keyring)
    return await mutate(call, "events.webhook.create", handler)


async def webhook_rotate(call: Call, hook_id: str) -> Response:
    """Give a webhook a new secret; the one before signs too for a day."""
    keyring = await keyring_of(call.platform)
    handler = partial(_rotate, hook_id=hook_id, keyring=keyring)
    return await mutate(call, "events.webhook.rotate", handler)


async def webhook_list(call: Call, where: Place, cursor: str | None, limit: int) -> Page[Webhook]:
    """Webhooks of a project, or of a tenant and its projects."""
    async with call.db.connection() as conn:
        place = await _place(conn, where)
        call.caller.require(Permission.WEBHOOK_READ, place)
        rows = await webhooks.hook_list(conn, place, cursor_decode(cursor), limit + 1)
    return page_of([hook_model(row) for row in rows], limit, lambda hook: hook.id)


async def webhook_read(call: Call, hook_id: str) -> Webhook:
    """One webhook."""
    async with call.db.connection() as conn:
        return hook_model(await _read(call, conn, hook_id))


async def webhook_update(work: Work, hook_id: str, body: WebhookUpdate) -> Answer[Webhook]:
    """Change what a webhook takes, where it points, or whether it is served."""
    row = await _locked(work, hook_id)
    match_require(work.call, row["revision"])
    before = hook_model(row)
    changed = before.model_copy(update=body.model_dump(exclude_none=True, exclude={"filter"}))
    wanted = body.filter or before.filter
    _url_require(work.call.platform.settings, changed.url)
    row = await webhooks.hook_change(
        work.conn,
        HookRow(
            id=hook_id,
            place=Place(before.org_id, before.project_id),
            url=changed.url,
            description=changed.description,
            types=wanted.types,
            app_slug=wanted.app_slug,
            app_instance_id=wanted.app_instance_id,
            secret=row["secret"],
            now=work.now,
        ),
    )
    if body.status is WebhookStatus.ACTIVE and before.status is not WebhookStatus.ACTIVE:
        row = await webhooks.hook_enable(work.conn, hook_id, work.now)
        await _gap_say(work, row)
    if body.status is WebhookStatus.DISABLED and before.status is WebhookStatus.ACTIVE:
        row = await webhooks.hook_disable(work.conn, hook_id, "Disabled by a person.", work.now)
    after = hook_model(row)
    _told(work, after, "updated", before=before)
    return Answer(after, headers=etag_headers(after.revision))


async def webhook_delete(work: Work, hook_id: str) -> Answer[Webhook]:
    """Remove a webhook and all its deliveries."""
    row = await _locked(work, hook_id)
    match_require(work.call, row["revision"])
    await webhooks.hook_delete(work.conn, hook_id)
    _told(work, hook_model(row), "deleted", before=hook_model(row))
    return Answer(None, status=204)


async def webhook_disable(work: Work, hook_id: str, reason: str) -> Answer[Webhook]:
    """Stop serving a webhook that took nothing for too long. By the dispatcher."""
    row = await webhooks.hook_read(work.conn, hook_id, lock=True)
    if row is None:
        raise not_found("webhook", hook_id)
    before = hook_model(row)
    after = hook_model(await webhooks.hook_disable(work.conn, hook_id, reason, work.now))
    _told(work, after, "disabled", before=before, reason=reason)
    return Answer(after)


async def delivery_list(
    call: Call, hook_id: str, status: DeliveryStatus | None, page: tuple[str | None, int]
) -> Page[WebhookDelivery]:
    """How events fared with a webhook; the dead ones are those to look at."""
    cursor, limit = page
    async with call.db.connection() as conn:
        await _read(call, conn, hook_id)
        rows = await webhooks.delivery_list(
            conn, hook_id, status, (cursor_decode(cursor), limit + 1)
        )
    return page_of([_delivery_model(row) for row in rows], limit, lambda delivery: delivery.id)


async def delivery_redeliver(work: Work, delivery_id: str) -> Answer[Redelivered]:
    """Give one dead delivery a second chance."""
    delivery = await webhooks.delivery_read(work.conn, delivery_id)
    if delivery is None:
        raise not_found("delivery", delivery_id)
    hook = await _locked(work, delivery["webhook_id"])
    if delivery["status"] != DeliveryStatus.DEAD:
        raise PlatformError(
            ErrorCode.STATE_CONFLICT, "Only a dead delivery can be delivered again."
        )
    return await _revive(work, hook, delivery_id)


async def webhook_redeliver(work: Work, hook_id: str) -> Answer[Redelivered]:
    """Give every dead delivery of a webhook a second chance."""
    return await _revive(work, await _locked(work, hook_id), None)


def hook_keys(keyring: Keyring, hook: Record, now: datetime) -> list[bytes]:
    """The keys that sign for a webhook now."""
    sealed = [hook["secret"]]
    if hook["old_secret"] is not None and hook["old_secret_until"] > now:
        sealed.append(hook["old_secret"])
    return [keyring.unseal(secret, _context(hook["id"])) for secret in sealed]


def hook_model(row: Record) -> Webhook:
    """A webhook as it is shown; its secrets are no part of it."""
    return Webhook(
        id=row["id"],
        org_id=row["org_id"],
        project_id=row["project_id"],
        url=row["url"],
        description=row["description"],
        filter=WebhookFilter(
            types=row["types"], app_slug=row["app_slug"], app_instance_id=row["app_instance_id"]
        ),
        status=row["status"],
        disabled_reason=row["disabled_reason"],
        delivered_sequence=row["cursor"],
        failing_since=row["failing_since"],
        failures=row["failures"],
        next_attempt_at=row["next_attempt_at"] if row["failures"] else None,
        last_error=row["last_error"],
        revision=row["revision"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


async def _create(
    work: Work, where: Place, body: WebhookCreate, keyring: Keyring
) -> Answer[WebhookWithSecret]:
    place = await _place(work.conn, where)
    work.require(Permission.WEBHOOK_MANAGE, place)
    work.require(Permission.EVENT_READ, place)
    _url_require(work.call.platform.settings, body.url)
    if await webhooks.hook_count(work.conn, place) >= _PER_PLACE:
        raise PlatformError(ErrorCode.QUOTA_EXCEEDED, f"There are {_PER_PLACE} webhooks already.")
    hook_id, key = work.new_id(Prefix.WEBHOOK), work.call.platform.clock.randomness(SECRET_BYTES)
    row = await webhooks.hook_add(
        work.conn,
        HookRow(
            id=hook_id,
            place=place,
            url=body.url,
            description=body.description,
            types=body.filter.types,
            app_slug=body.filter.app_slug,
            app_instance_id=body.filter.app_instance_id,
            secret=keyring.seal(key, _context(hook_id)),
            now=work.now,
        ),
    )
    hook = hook_model(row)
    _told(work, hook, "created")
    answer = WebhookWithSecret(webhook=hook, secret=secret_text(key))
    return Answer(answer, 201, etag_headers(hook.revision), secret=True)


async def _rotate(work: Work, hook_id: str, keyring: Keyring) -> Answer[WebhookWithSecret]:
    before = hook_model(await _locked(work, hook_id))
    key = work.call.platform.clock.randomness(SECRET_BYTES)
    sealed = keyring.seal(key, _context(hook_id))
    row = await webhooks.hook_rotate(work.conn, hook_id, sealed, work.now + _OVERLAP, work.now)
    hook = hook_model(row)
    _told(work, hook, "rotated", before=before)
    answer = WebhookWithSecret(webhook=hook, secret=secret_text(key))
    return Answer(answer, headers=etag_headers(hook.revision), secret=True)


async def _revive(work: Work, hook: Record, delivery_id: str | None) -> Answer[Redelivered]:
    if hook["status"] != WebhookStatus.ACTIVE:
        raise PlatformError(ErrorCode.STATE_CONFLICT, "The webhook is disabled; enable it first.")
    count = await webhooks.deliveries_revive(work.conn, hook["id"], delivery_id)
    place = Place(hook["org_id"], hook["project_id"])
    work.audit(Target("webhook", hook["id"], place, detail={"count": count}))
    work.signal("events")
    return Answer(Redelivered(count=count), status=202)


async def _place(conn: Connection, where: Place) -> Place:
    if where.project_id is not None:
        return await project_place(conn, where.project_id)
    return await tenant_place(conn, where.org_id or "")


async def _read(call: Call, conn: Connection, hook_id: str) -> Record:
    row = await webhooks.hook_read(conn, hook_id)
    if row is None:
        raise not_found("webhook", hook_id)
    call.caller.require(Permission.WEBHOOK_READ, Place(row["org_id"], row["project_id"]))
    return row


async def _locked(work: Work, hook_id: str) -> Record:
    """The webhook, locked, if the caller may change it."""
    row = await webhooks.hook_read(work.conn, hook_id, lock=True)
    if row is None:
        raise not_found("webhook", hook_id)
    work.require(Permission.WEBHOOK_MANAGE, Place(row["org_id"], row["project_id"]))
    return row


async def _gap_say(work: Work, hook: Record) -> None:
    """Leave a note where events went while the webhook was disabled: they are not delivered."""
    first = await sequence.event_first_kept(work.conn)
    if hook["cursor"] + 1 < first:
        place = Place(hook["org_id"], hook["project_id"])
        data = {"after": hook["cursor"], "first_kept": first}
        work.emit(Happened("events.webhook.gap", hook["id"], place, data))


def _url_require(settings: Settings, url: str) -> None:
    wrong = Guard(settings.webhook_allowed_networks).url_check(url)
    if wrong is not None:
        raise invalid("/url", wrong)


def _told(
    work: Work, hook: Webhook, what: str, *, before: Webhook | None = None, reason: str = ""
) -> None:
    """Audit a change and tell of it; wake whoever serves webhooks."""
    place = Place(hook.org_id, hook.project_id)
    after = None if what == "deleted" else hook
    work.audit(Target("webhook", hook.id, place, before=before, after=after, reason=reason))
    # Only the host: paths and queries of receivers often hold a secret, and many read events.
    data = {"status": hook.status, "host": urlsplit(hook.url).hostname}
    work.emit(
        Happened(
            f"events.webhook.{what}", hook.id, place, data | ({"reason": reason} if reason else {})
        )
    )
    work.signal("events")


def _delivery_model(row: Record) -> WebhookDelivery:
    return WebhookDelivery(
        id=row["id"],
        webhook_id=row["webhook_id"],
        event_id=row["event_id"],
        event_type=row["event_type"],
        sequence=row["seq"],
        status=row["status"],
        attempts=row["attempts"],
        response_status=row["response_status"],
        error=row["error"],
        at=row["at"],
    )


def _context(hook_id: str) -> str:
    return f"webhook:{hook_id}"
