"""`gpuaas usage instance`: what an instance used, by machine and day. Lists are generated."""

import sys
from typing import Annotated, Any

from gpuaas_cli import later
from gpuaas_cli.names import identified
from gpuaas_cli.options import Connection
from gpuaas_cli.output import note
from gpuaas_cli.output import show as shown
from gpuaas_cli.said import Parameter
from gpuaas_cli.session import Session, run

_MACHINE = (
    *("name", "sku", "hours", "gpu_hours", "price_per_hour", "amount", "currency"),
    *("seconds", "open", "components", "held_since", "held_until", "allocation_id"),
)
_DAY = ("day", "unit", "quantity", "amount", "currency")


def instance(
    instance: Annotated[str, Parameter(help="id or name of the instance")],
    *,
    since: Annotated[str | None, Parameter(help="from this moment; its creation")] = None,
    until: Annotated[str | None, Parameter(help="up to this moment; now")] = None,
    connection: Connection | None = None,
) -> int:
    """Show what an instance used since it was made: hours, money, by machine and by day.

    As CSV: a line for each machine.

    Examples
    --------
    $ gpuaas usage instance first
    $ gpuaas usage instance first --since 2026-03-01T00:00:00Z -o csv
    """

    async def command(session: Session) -> int:
        instance_id = await identified(session, "instance_id", instance)
        used = await session.read(f"/app-instances/{instance_id}/usage", since=since, until=until)
        form = session.options.output
        if form == "csv" and session.options.field is None:
            shown(used["machines"], form, _MACHINE)
        elif form in {"table", "wide"} and session.options.field is None:
            sys.stdout.write(_text(used, wide=form == "wide"))
        else:
            shown(used, form)
        for one in used["notes"]:
            note(one)
        return 0

    return run(connection, command)


def _text(used: dict[str, Any], *, wide: bool) -> str:
    facts = {
        "instance": used["resource_name"],
        "owner": used["owner"]["project_id"] or used["owner"]["org_id"],
        "from": used["since"],
        "to": f"{used['until']}{', and goes on' if used['open'] else ''}",
        "running_hours": used["running_hours"],
        "amount": _money(used["amounts"]),
        "price_per_hour": _money(used["price_per_hour"]),
    }
    tables = later.tables
    text: str = tables.facts_text(facts, wide=wide)
    if used["machines"]:
        text += f"\n{tables.styled('machines', 'bold')}\n"
        text += tables.list_text(used["machines"], _MACHINE, wide=wide)
        text += f"\n{tables.styled('by day', 'bold')}\n"
        text += tables.list_text(used["days"], _DAY, wide=wide)
    return text


def _money(amounts: list[dict[str, str]]) -> str:
    return ", ".join(f"{one['amount']} {one['currency']}" for one in amounts) or "nothing"
