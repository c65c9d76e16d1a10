"""`gpuaas smoke`, `gpuaas app check`, `gpuaas validate slice`: their options and their end.

Exit code 0 when everything was seen to hold and nothing is left behind, 6 otherwise.
"""

import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from gpuaas_cli.body import body_make
from gpuaas_cli.names import identified, project_id
from gpuaas_cli.options import Body, Connection
from gpuaas_cli.output import note, show
from gpuaas_cli.proof import (
    readiness,
    slice_adapter,
    slice_contract,
    slice_criteria,
    slice_debug,
)
from gpuaas_cli.proof import (
    report as reports,
)
from gpuaas_cli.proof import (
    smoke as smoking,
)
from gpuaas_cli.proof.caller import Caller
from gpuaas_cli.proof.evidence import Check, Report, Result
from gpuaas_cli.proof.runner import Statement, run_statements
from gpuaas_cli.proof.stage import Fault, Stage, clean_up
from gpuaas_cli.said import Group, Parameter
from gpuaas_cli.session import OPERATION_FAILED, Session, Stop, run
from gpuaas_sdk import Client, ServiceAccountKey

_GROUP = Group("The proof", sort_key=5)


@Parameter(name="*", group=_GROUP)
@dataclass(frozen=True, kw_only=True)
class Proof(Body):
    """What is proven, and where the report goes."""

    app: Annotated[str, Parameter(help="the app's name in the catalog")]
    version: Annotated[str | None, Parameter(help="the newest allowed here when left out")] = None
    operator_key: Annotated[
        Path | None, Parameter(help="key file of the app's service account, for negative tests")
    ] = None
    report_json: Annotated[Path | None, Parameter(help="write the report here as JSON")] = None
    report_html: Annotated[Path | None, Parameter(help="write it here as one HTML page")] = None
    patience: Annotated[float, Parameter(help="seconds one operation may take")] = 600.0


@Parameter(name="*", group=_GROUP)
@dataclass(frozen=True, kw_only=True)
class Breaking:
    """What is broken on purpose, and how."""

    broken: Annotated[
        str | None, Parameter(help="allocation whose machine does not answer, for phase 3")
    ] = None
    break_with: Annotated[
        str | None, Parameter(help="shell command, run here, that makes it so")
    ] = None
    mend_with: Annotated[
        str | None, Parameter(help="shell command, run here, that makes it answer again")
    ] = None


def smoke(
    *,
    proof: Proof,
    allocation: Annotated[
        tuple[str, ...], Parameter(negative="", group=_GROUP, help="machines to use; free ones")
    ] = (),
    connection: Connection | None = None,
) -> int:
    """Deploy, add and remove a member, stop and start, access, health, decommission.

    Safe on production: it uses free machines of the project, makes one instance of its own and
    takes it away whatever happens. Exit code 0, or 6 with what did not hold.

    Examples
    --------
    $ gpuaas smoke --app notes
    $ gpuaas smoke --app notes --allocation n1 --allocation n2 --report-html smoke.html
    """

    async def command(session: Session) -> int:
        async with _stage(session, proof, "smoke test", allocation) as (stage, report):
            chosen = smoking.statements_for(stage)
            await _made(report, chosen, stage)
        return _ended(session, proof, report)

    return run(connection, command)


def app_check(
    instance: Annotated[str, Parameter(help="a running instance of the app, by id or name")],
    *,
    operator_key: Annotated[
        Path | None, Parameter(help="key file of the app's service account, for negative tests")
    ] = None,
    report: Annotated[Path | None, Parameter(help="write the report here, .json or .html")] = None,
    connection: Connection | None = None,
) -> int:
    """Check the seven points an app must meet before it is onboarded, on a running instance.

    Examples
    --------
    $ gpuaas app check first --operator-key operator.key --report readiness.html
    """

    async def command(session: Session) -> int:
        wanted = await identified(session, "instance_id", instance)
        found = await session.read(f"/app-instances/{wanted}")
        given = _proof_of(found, operator_key, report)
        home = replace(session.options, project=found["project_id"])
        there = replace(session, options=home)
        async with _stage(there, given, "readiness check", None) as (stage, made):
            stage.instance_id = wanted
            await _made(made, readiness.STATEMENTS, stage)
            stage.instance_id = ""  # it was there before us and stays
        return _ended(session, given, made)

    return run(connection, command)


def validate_slice(
    *,
    proof: Proof,
    target: Annotated[str, Parameter(group=_GROUP, help="allocation for the first member")],
    worker: Annotated[
        str | None, Parameter(group=_GROUP, help="allocation that joins; a free one")
    ] = None,
    breaking: Breaking | None = None,
    connection: Connection | None = None,
) -> int:
    """Run the founding validation on a machine: contract, adapter, debugging, criteria.

    Every criterion is a check with its evidence; nothing is assumed. What does not hold goes into
    the gap log. The instance it makes is taken away at the end.

    Examples
    --------
    $ gpuaas validate slice --app notes --target compute-vm --broken n9 --report-html slice.html
    """

    async def command(session: Session) -> int:
        machines = (target,) if worker is None else (target, worker)
        given = breaking or Breaking()
        silent = given.broken and await identified(session, "allocation_id", given.broken)
        async with _stage(session, proof, "slice validation", machines) as (stage, report):
            stage.machines = [one for one in stage.machines if one != silent][:2]
            stage.fault = Fault(silent, given.break_with, given.mend_with)
            for statements in _SLICE:
                await _made(report, statements, stage)
            await _gaps(report, stage)
        return _ended(session, proof, report)

    return run(connection, command)


_SLICE = (
    slice_contract.STATEMENTS,
    slice_adapter.STATEMENTS,
    slice_debug.STATEMENTS,
    slice_criteria.STATEMENTS,
)


@contextlib.asynccontextmanager
async def _stage(
    session: Session, proof: Proof, kind: str, machines: Sequence[str] | None
) -> AsyncIterator[tuple[Stage, Report]]:
    """Everything a run needs; what it made is taken away however it ends."""
    project = await project_id(session)
    version = proof.version or await _newest(session, project, proof.app)
    async with contextlib.AsyncExitStack() as stack:
        operator = None
        if proof.operator_key is not None:
            key = ServiceAccountKey(_key(proof.operator_key))
            client = await stack.enter_async_context(Client(session.context.url, key))
            operator = Caller(client, "operator")
        chosen = [] if machines is None else await _machines(session, project, machines)
        stage = Stage(
            person=Caller(session.client),
            operator=operator,
            project_id=project,
            app=proof.app,
            version=version,
            settings=body_make(proof, (), {}),
            machines=chosen,
            patience=proof.patience,
        )
        path = f"/apps/{proof.app}/versions/{version}"
        stage.manifest = (await session.read(path))["manifest"]
        report = Report(kind, proof.app, version, session.context.url, project, datetime.now(UTC))
        try:
            yield stage, report
        finally:
            report.left_behind = await clean_up(stage)
            report.ended_at = datetime.now(UTC)


async def _made(report: Report, statements: Sequence[Statement[Stage]], stage: Stage) -> None:
    callers = [stage.person] + ([stage.operator] if stage.operator else [])
    await run_statements(report, statements, stage, callers, reports.say)


async def _gaps(report: Report, stage: Stage) -> None:
    """Put what did not hold into the gap log, in the categories of the log."""
    categories = {one.id: one.category for group in _SLICE for one in group}
    for index, check in enumerate(report.checks):
        if check.result is not Result.FAILED:
            continue
        answer = await stage.person.ask("POST", "/gaps", _gap(check, categories[check.id], stage))
        if answer.ok:
            report.checks[index] = replace(check, gap_id=answer.body["id"])
        else:
            note(f"the gap of {check.id} could not be logged: {answer.status} {answer.code}")


def _gap(check: Check, category: str, stage: Stage) -> dict[str, Any]:
    last = check.evidence[-1] if check.evidence else None
    evidence = (
        {}
        if last is None
        else {
            "request": last.request,
            "answer": last.answer,
            "correlation_id": last.correlation_id or None,
        }
    )
    return {
        "category": category,
        "title": f"{check.id} {check.title}"[:200],
        "description": check.detail[:2000],
        "project_id": stage.project_id,
        "app_slug": stage.app,
        "evidence": evidence,
    }


def _ended(session: Session, proof: Proof, report: Report) -> int:
    reports.write(report, proof.report_json, proof.report_html)
    if session.options.output in {"json", "yaml"}:
        show(report.as_json(), session.options.output)
    else:
        note(reports.summary(report))
    return 0 if report.passed else OPERATION_FAILED


async def _newest(session: Session, project: str, app: str) -> str:
    found = await session.read(f"/projects/{project}/apps/{app}")
    if found["latest_available"] is None:
        raise Stop(f"{app} cannot be deployed in this project: no version is allowed here")
    return str(found["latest_available"])


async def _machines(session: Session, project: str, named: Sequence[str]) -> list[str]:
    """The machines named, and free ones of the project behind them."""
    chosen = [await identified(session, "allocation_id", one) for one in named]
    found = await session.read("/allocations", project_id=project, status="active", limit=500)
    free = [one["id"] for one in found["items"] if one["bound_instance_id"] is None]
    chosen += [one for one in free if one not in chosen]
    if not chosen:
        raise Stop("the project holds no machine that is active and free")
    return chosen


def _proof_of(instance: dict[str, Any], key: Path | None, report: Path | None) -> Proof:
    as_html = report is not None and report.suffix == ".html"
    return Proof(
        app=instance["app_slug"],
        version=instance["app_version"],
        operator_key=key,
        report_html=report if as_html else None,
        report_json=None if as_html else report,
    )


def _key(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise Stop(f"--operator-key {path} cannot be read ({error.strerror})") from error
