"""Phase 3 of the founding validation: break something, and answer five questions by reading.

Two failures are made through the API alone: an operation that is stopped while it waits or runs,
and a member on a machine that does not answer. Nothing but public reads may be needed to say
which instance, which member, which operation, which correlation id, and what the adapter says.
"""

import asyncio
from collections.abc import Awaitable, Callable

from gpuaas_cli.proof.caller import Answer
from gpuaas_cli.proof.evidence import Failed, Unverified
from gpuaas_cli.proof.runner import Statement
from gpuaas_cli.proof.stage import Stage, Thing

_AREA = "phase 3: debugging"
_LOOK_SECONDS = 0.5


async def break_machine(stage: Stage) -> str:
    """A member is asked for on a machine that does not answer; the failure is seen."""
    if stage.fault.allocation_id is None:
        raise Unverified("give --broken with an allocation whose machine does not answer")
    await stage.fault.make()
    answer = await stage.add_on(stage.fault.allocation_id)
    operation = stage.person.granted(answer, "the member operation")["operation"]
    stage.correlations.append(answer.correlation_id)
    stage.failed = await _with_error(stage, operation)
    error = stage.failed["error"]
    return f"{stage.failed['id']}: attempt {error['attempt']}, {error['code']}: {error['message']}"


async def which_instance(stage: Stage) -> str:
    """Question 1: which instance is affected."""
    found = (await _diagnosis(stage))["instance"]
    if not found or found["id"] != stage.instance_id:
        raise Failed(f"the timeline names {found['id'] if found else 'no instance'}")
    return f"{found['resource_name']} ({found['id']}), {found['status']} / {found['health']}"


async def which_member(stage: Stage) -> str:
    """Question 2: which member is affected."""
    found = (await _diagnosis(stage))["member"]
    if not found or found["allocation_id"] != stage.fault.allocation_id:
        raise Failed(f"the timeline names {found['id'] if found else 'no member'}")
    return f"{found['component_key']} {found['id']} on {found['allocation_id']}"


async def which_operation(stage: Stage) -> str:
    """Question 3: which operation is in progress or failed, and at which step."""
    found = (await _diagnosis(stage))["operation"]
    if not found or found["id"] != stage.failed["id"]:
        raise Failed(f"the timeline names {found['id'] if found else 'no operation'}")
    return f"{found['kind']} ({found['id']}): {found['status']} at {found['step'] or 'its start'}"


async def which_correlation(stage: Stage) -> str:
    """Question 4: what correlation id to look logs and traces up by."""
    wanted = stage.failed["correlation_id"]
    timeline = await stage.person.get(f"/correlations/{wanted}")
    kinds = {one["kind"] for one in timeline["entries"]}
    lacking = {"request", "operation", "event"} - kinds
    if lacking:
        raise Failed(f"the timeline of {wanted} has no {', '.join(sorted(lacking))}")
    return f"{wanted}: {', '.join(sorted(kinds))}; traces {', '.join(timeline['trace_ids']) or '-'}"


async def what_adapter_says(stage: Stage) -> str:
    """Question 5: what the adapter says about the runtime."""
    diagnosis = await _diagnosis(stage)
    detail = diagnosis["adapter_detail"]
    error = (diagnosis["operation"] or {}).get("error") or {}
    if not (detail and detail["summary"]):
        raise Failed("the adapter says nothing about itself")
    if not error.get("message"):
        raise Failed("the failed operation has no sentence about what failed")
    return f"{detail['severity']}: {detail['summary']}; {error['code']}: {error['message']}"


async def ways_out(stage: Stage) -> str:
    """There are ways out, and one is taken: cancel; once mended, remove, and a tombstone stays."""
    found = await stage.person.get(f"/operations/{stage.failed['id']}")
    ways = [one["action"] for one in found["next_actions"]]
    if not ways:
        raise Failed(f"{found['id']} is {found['status']} and offers no way out")
    if "cancel" in ways:
        await stage.person.change("POST", f"/operations/{found['id']}/cancel")
    ended = await stage.ended(await stage.person.get(f"/operations/{found['id']}"))
    member = await stage.person.get(f"/app-members/{ended['member_id']}")
    if member["status"] == "removed":
        raise Failed("the member is said to be removed, and nobody could ask its machine")
    if stage.fault.end is None:
        return f"offered {', '.join(ways)}; {ended['status']}; the member is {member['status']}"
    await stage.fault.mend()
    await stage.ask_purpose("member_remove", [member["id"]])
    grave = await stage.person.get(f"/app-members/{member['id']}")
    absent = (grave["absence"] or {}).get("runtime_verified_absent")
    if grave["status"] != "removed" or not absent:
        raise Failed(f"mended and removed, but {grave['status']}, absence not verified")
    return f"offered {', '.join(ways)}; {ended['status']}, mended, removed; a tombstone stays"


async def stopped(stage: Stage) -> str:
    """An operation stopped on the way is told as such, with who did it."""
    spec = stage.operation("reconcile")
    answer: Answer = await stage.ask(spec)
    operation = stage.person.granted(answer, "reconcile")["operation"]
    stage.correlations.append(answer.correlation_id)
    await stage.person.ask("POST", f"/operations/{operation['id']}/cancel")
    ended = await stage.ended(await stage.person.get(f"/operations/{operation['id']}"))
    timeline = await stage.person.get(f"/correlations/{answer.correlation_id}")
    told = [one for one in timeline["entries"] if one["id"] == operation["id"]]
    if not told:
        raise Failed(f"the timeline of {answer.correlation_id} does not tell of {operation['id']}")
    late = " (it was done before the stop came)" if ended["status"] == "succeeded" else ""
    return f"{operation['id']} {ended['status']}{late}; {len(timeline['entries'])} entries tell it"


async def audited(stage: Stage) -> str:
    """The failure can be followed in the audit by its correlation id."""
    wanted = stage.failed["correlation_id"]
    entries = (await stage.person.get("/audit", correlation_id=wanted, limit=100))["items"]
    if not entries:
        raise Failed(f"the audit has no entry for {wanted}")
    actors = {f"{one['actor_kind']} {one['actor_id']}" for one in entries}
    return f"{len(entries)} entries by {', '.join(sorted(actors))}"


async def _with_error(stage: Stage, operation: Thing) -> Thing:
    """The operation once an attempt of it failed, whether or not it will be tried again."""
    found = operation
    async with asyncio.timeout(stage.patience):
        while found["error"] is None:
            if found["status"] == "succeeded":
                raise Failed(f"{found['id']} succeeded on a machine that does not answer")
            if found["status"] in {"cancelled", "abandoned"}:
                raise Failed(f"{found['id']} was {found['status']} without a word")
            found = await stage.newer(found)
            await asyncio.sleep(_LOOK_SECONDS)
    return found


async def _diagnosis(stage: Stage) -> Thing:
    wanted = stage.failed["correlation_id"]
    found = (await stage.person.get(f"/correlations/{wanted}"))["diagnoses"]
    if not found:
        raise Failed(f"the timeline of {wanted} answers none of the questions")
    first: Thing = found[0]
    return first


def _question(number: int, title: str, see: Callable[[Stage], Awaitable[str]]) -> Statement[Stage]:
    return Statement(f"3.{number + 1}", _AREA, title, see, ("3.1",), "missing_read_model")


STATEMENTS: tuple[Statement[Stage], ...] = (
    Statement("3.1", _AREA, "A failure is made and seen", break_machine, ("2.4",)),
    _question(1, "Which instance?", which_instance),
    _question(2, "Which member?", which_member),
    _question(3, "Which operation?", which_operation),
    _question(4, "Which correlation id?", which_correlation),
    Statement("3.6", _AREA, "What does the adapter say?", what_adapter_says, ("3.1",)),
    Statement("3.7", _AREA, "The audit knows it", audited, ("3.1",), "missing_read_model"),
    Statement("3.8", _AREA, "There is a way out", ways_out, ("3.1",), "missing_primitive"),
    Statement("3.9", _AREA, "A stopped operation is told", stopped, ("2.3",), "missing_read_model"),
)
