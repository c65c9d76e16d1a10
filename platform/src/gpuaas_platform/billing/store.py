"""SQL of usage: the number read up to, prices, records, and sums of them."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from datetime import datetime
from typing import Final

from gpuaas_contract.billing import Pricing, UsageBasis
from gpuaas_contract.manifest import UsageSource, UsageUnit
from gpuaas_platform.billing.metering import Price, Stretch
from gpuaas_platform.kernel.caller import Place
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.listing import Conditions

_COLUMNS: Final = [one.name for one in fields(Stretch)]
_PRICE: Final = [one.name for one in fields(Price)]
_INSERT: Final = (
    f"INSERT INTO usage_records ({', '.join(_COLUMNS)})"  # noqa: S608 - names of columns, no input
    f" VALUES ({', '.join(f'${n}' for n in range(1, len(_COLUMNS) + 1))})"
)
_END: Final = "COALESCE(ended_at, 'infinity')"
_KINDS: Final = {
    "source": UsageSource,
    "unit": UsageUnit,
    "pricing": Pricing,
    "basis": UsageBasis,
}


@dataclass(frozen=True)
class Period:
    """Whose usage, from when to when, of which kind."""

    place: Place
    since: datetime | None
    until: datetime
    source: UsageSource | None = None
    unit: UsageUnit | None = None


async def watermark_lock(conn: Connection) -> Record | None:
    """How far events were read; None while another replica reads on."""
    return await conn.fetchrow("SELECT * FROM usage_watermark FOR UPDATE SKIP LOCKED")


async def watermark_read(conn: Connection) -> Record:
    """How far events were read."""
    row = await conn.fetchrow("SELECT * FROM usage_watermark")
    if row is None:
        raise RuntimeError("the watermark is one row from its migration on")
    return row


async def watermark_move(conn: Connection, seq: int, at: datetime, gap: datetime | None) -> None:
    """Remember how far events were read."""
    await conn.execute("UPDATE usage_watermark SET seq = $1, at = $2, gap_since = $3", seq, at, gap)


async def prices_in_force(conn: Connection) -> list[Price]:
    """What every known kind of machine costs now."""
    rows = await conn.fetch(
        f"SELECT DISTINCT ON (sku) {', '.join(_PRICE)} FROM usage_prices"  # noqa: S608 - names of columns
        " ORDER BY sku, event_seq DESC"
    )
    return [Price(*row) for row in rows]


async def price_insert(conn: Connection, price: Price) -> None:
    """A price that was told."""
    await conn.execute(
        "INSERT INTO usage_prices (sku, event_seq, since, price_per_hour, currency, gpus,"
        " correlation_id) VALUES ($1, $2, $3, $4, $5, $6, $7)",
        *astuple(price),
    )


async def stretches_open(
    conn: Connection, subject_ids: Sequence[str], skus: Sequence[str]
) -> list[Stretch]:
    """What goes on of these subjects and of machines of these kinds."""
    rows = await conn.fetch(
        "SELECT * FROM usage_records WHERE ended_at IS NULL AND subject_id = ANY($1)"
        " UNION SELECT * FROM usage_records WHERE ended_at IS NULL AND sku = ANY($2)",
        list(subject_ids), list(skus),
    )  # fmt: skip
    return [stretch_of(row) for row in rows]


async def stretches_all_open(conn: Connection) -> list[Stretch]:
    """Everything that goes on."""
    rows = await conn.fetch("SELECT * FROM usage_records WHERE ended_at IS NULL")
    return [stretch_of(row) for row in rows]


async def last_ends(conn: Connection, subject_ids: Sequence[str]) -> dict[str, datetime]:
    """When these subjects were last counted."""
    rows = await conn.fetch(
        "SELECT subject_id, max(ended_at) AS ended_at FROM usage_records"
        " WHERE subject_id = ANY($1) AND ended_at IS NOT NULL GROUP BY subject_id",
        list(subject_ids),
    )
    return {row["subject_id"]: row["ended_at"] for row in rows}


async def stretches_write(
    conn: Connection,
    begun: Sequence[Stretch],
    ended: Sequence[Stretch],
    undone: Sequence[str],
) -> None:
    """Write down what a meter found. Ends first: a subject has one open stretch per unit."""
    if undone:
        await conn.execute("DELETE FROM usage_records WHERE id = ANY($1)", list(undone))
    if ended:
        await conn.execute(
            "UPDATE usage_records AS u SET ended_at = n.at, ended_correlation_id = n.by,"
            " basis = n.basis FROM unnest($1::text[], $2::timestamptz[], $3::text[], $4::text[])"
            " AS n (id, at, by, basis) WHERE u.id = n.id AND u.ended_at IS NULL",
            [one.id for one in ended], [one.ended_at for one in ended],
            [one.ended_correlation_id for one in ended], [one.basis for one in ended],
        )  # fmt: skip
    if begun:
        await conn.executemany(_INSERT, [astuple(one) for one in begun])


async def records_of(
    conn: Connection, subject_ids: Sequence[str], since: datetime, until: datetime
) -> list[Stretch]:
    """Every record of these subjects that touches a period, oldest first."""
    rows = await conn.fetch(
        "SELECT * FROM usage_records WHERE subject_id = ANY($1) AND started_at < $3"
        " AND (ended_at IS NULL OR ended_at > $2) ORDER BY started_at, id",
        list(subject_ids), since, until,
    )  # fmt: skip
    return [stretch_of(row) for row in rows]


async def record_list(
    conn: Connection, period: Period, after: tuple[str, str] | None, limit: int
) -> list[Stretch]:
    """Records that touch a period: what goes on first, then what ended last."""
    conditions = _conditions(period)
    if after is not None:
        end, last_id = after
        conditions.args += [end, last_id]
        n = len(conditions.args)
        conditions.texts.append(f"({_END}, id) < (${n - 1}::text::timestamptz, ${n})")
    conditions.args.append(limit)
    rows = await conn.fetch(
        f"SELECT * FROM usage_records WHERE {' AND '.join(conditions.texts)}"  # noqa: S608 - code, no values
        f" ORDER BY {_END} DESC, id DESC LIMIT ${len(conditions.args)}",
        *conditions.args,
    )
    return [stretch_of(row) for row in rows]


async def usage_sum(conn: Connection, period: Period, by: str) -> list[Record]:
    """Sums of a period: seconds, and price times seconds, exact; divided by whoever shows them."""
    conditions = _conditions(period)
    conditions.args += [period.since, period.until]
    since, until = f"${len(conditions.args) - 1}", f"${len(conditions.args)}"
    return await conn.fetch(
        _SUM.format(
            where=" AND ".join(conditions.texts), since=since, until=until,
            days=_DAYS if by == "day" else "", day="day" if by == "day" else "NULL::date",
            project="project_id" if by == "project" else "NULL::text",
            began="GREATEST(began, day_began)" if by == "day" else "began",
            ended="LEAST(ended, day_began + interval '1 day')" if by == "day" else "ended",
        ),
        *conditions.args,
    )  # fmt: skip


_DAYS: Final = (
    " CROSS JOIN LATERAL (SELECT d::date AS day, d AT TIME ZONE 'UTC' AS day_began"
    " FROM generate_series(date_trunc('day', began AT TIME ZONE 'UTC'),"
    " (ended - interval '1 second') AT TIME ZONE 'UTC', interval '1 day') AS d) AS days"
)
_SUM: Final = """
WITH cut AS (
    SELECT *, GREATEST(started_at, {since}) AS began, LEAST(ended_at, {until}) AS ended
    FROM usage_records WHERE {where}
), counted AS (
    SELECT {day} AS day, {project} AS project_id, source, unit, currency, pricing, price_per_hour,
           ended_at IS NULL AS open,
           count * extract(epoch FROM {ended} - {began})::bigint AS seconds
    FROM cut{days}
)
SELECT day, project_id, source, unit, max(currency) AS currency, sum(seconds)::bigint AS seconds,
       sum(price_per_hour * seconds) AS price_seconds, bool_or(open) AS open,
       COALESCE(sum(seconds) FILTER (WHERE pricing = 'unknown'), 0)::bigint AS unpriced_seconds
FROM counted GROUP BY day, project_id, source, unit, COALESCE(currency, '')
ORDER BY day, project_id, source, unit, COALESCE(currency, '')
"""


def stretch_of(row: Record) -> Stretch:
    """A row as a stretch."""
    values = {name: row[name] for name in _COLUMNS}
    return Stretch(**(values | {name: kind(values[name]) for name, kind in _KINDS.items()}))


def _conditions(period: Period) -> Conditions:
    conditions = Conditions()
    if period.place.project_id is not None:
        conditions.add("project_id = {}", period.place.project_id)
    else:
        conditions.add("org_id = {}", period.place.org_id)
    conditions.add("started_at < {}", period.until)
    conditions.add_given(f"{_END} > {{}}", period.since)
    conditions.add_given("source = {}", period.source)
    conditions.add_given("unit = {}", period.unit)
    return conditions
