"""Phase 2 of the founding validation: the app's adapter at work on the machine."""

from gpuaas_cli.proof.evidence import Failed, Unverified
from gpuaas_cli.proof.runner import Statement
from gpuaas_cli.proof.smoke import public_key
from gpuaas_cli.proof.stage import Stage, Thing
from gpuaas_sdk.machines import AccessRefused, Machines, MachineUnreachable, ScriptFailed

_AREA = "phase 2: adapter"


async def access_path(stage: Stage) -> str:
    """The platform opens a way to the machine: a certificate, and host keys to expect."""
    path = f"/allocations/{stage.machines[0]}/access-grants"
    issued = await stage.person.change("POST", path, {"public_key": public_key()})
    grant = issued["grant"]
    if not issued["known_hosts"] or grant["principal"] != stage.machines[0]:
        raise Failed("the grant names no host keys, or another principal than the allocation")
    revoke = f"/access-grants/{grant['id']}/revoke"
    await stage.person.change("POST", revoke, {"reason": "the proof has seen it"})
    return f"{issued['address']} for {grant['principal']} until {grant['valid_before']}, revoked"


async def login(stage: Stage) -> str:
    """That way is real: a command runs on the machine."""
    machines = Machines(stage.person.client)
    try:
        machine = await machines.open(stage.machines[0])
        ran = await machine.run("uname -n", timeout=30)
    except MachineUnreachable as error:
        raise Unverified(f"from here: {error.message}") from error
    except (AccessRefused, ScriptFailed) as error:
        raise Failed(error.message) from error
    finally:
        await machines.close()
    return f"`uname -n` there says {ran.stdout.strip()}"


async def controller_bootstrap(stage: Stage) -> str:
    """The first member is brought up by the adapter, step by step."""
    stage.deployed = await stage.ended(stage.deployed)
    _require_succeeded(stage.deployed)
    steps = _steps_require(stage.deployed)
    first = await stage.member_on(stage.machines[0])
    if first["status"] != "ready":
        raise Failed(f"deployed, but {first['component_key']} {first['id']} is {first['status']}")
    return f"{first['component_key']} is ready on {stage.machines[0]} after: {steps}"


async def worker_join(stage: Stage) -> str:
    """A second member joins through the same boundary."""
    stage.added = await stage.ended(stage.added)
    _require_succeeded(stage.added)
    steps = _steps_require(stage.added)
    member = await stage.member_on(stage.spare())
    if member["status"] != "ready":
        raise Failed(f"joined, but {member['id']} is {member['status']}")
    return f"{member['component_key']} {member['id']} is ready after: {steps}"


async def reported(stage: Stage) -> str:
    """State came back through the member and instance read models."""
    found = await stage.instance()
    ill = [one["id"] for one in await stage.members() if one["health"] != "healthy"]
    if (found["status"], found["health"]) != ("running", "healthy") or ill:
        raise Failed(f"{found['status']} / {found['health']}; not healthy: {', '.join(ill) or '-'}")
    return f"running / healthy, {found['topology']}"


async def component_keys(stage: Stage) -> str:
    """The adapter gives component keys their meaning: each is one the manifest declares."""
    declared = {one["key"] for one in stage.manifest["components"]}
    found = {one["component_key"] for one in await stage.members()}
    if not found <= declared:
        raise Failed(f"members of undeclared components: {found - declared}")
    return f"{', '.join(sorted(found))} of {', '.join(sorted(declared))}"


async def adapter_detail(stage: Stage) -> str:
    """The app says something useful about itself."""
    detail = (await stage.instance())["adapter_detail"]
    if not detail or not detail["summary"] or not detail["detail"]:
        raise Failed("adapter_detail is empty: an operator learns nothing from it")
    return f"{detail['severity']}: {detail['summary']} ({', '.join(detail['detail'])})"


async def observed_version(stage: Stage) -> str:
    """The version that runs was read from the machine, beside the catalog's and the package's."""
    found = await stage.instance()
    if not found["runtime_version"]:
        raise Failed("runtime_version is empty: nobody read it from the machine")
    package = stage.manifest["package_version"] or "-"
    return f"catalog {found['app_version']}, package {package}, runs {found['runtime_version']}"


def _require_succeeded(operation: Thing) -> None:
    if operation["status"] == "succeeded":
        return
    error = operation.get("error") or {}
    why = f"{error.get('code', '')}: {error.get('message', 'no error was reported')}"
    raise Failed(f"{operation['kind']} ({operation['id']}) {operation['status']}: {why}")


def _steps_require(operation: Thing) -> str:
    done = [one for one in operation["progress"] if one["started_at"] and one["ended_at"]]
    if not done:
        raise Failed(f"{operation['id']} succeeded without a step anybody saw begin and end")
    return ", ".join(one["name"] for one in done)


STATEMENTS: tuple[Statement[Stage], ...] = (
    Statement("2.1", _AREA, "A way to the machine is open", access_path, (), "missing_primitive"),
    Statement("2.2", _AREA, "A command runs there", login, ("2.1",), "environment_problem"),
    Statement("2.3", _AREA, "The first member comes up", controller_bootstrap, ("1.1",)),
    Statement("2.4", _AREA, "A second member joins", worker_join, ("1.7",)),
    Statement("2.5", _AREA, "State is reported back", reported, ("2.3", "2.4")),
    Statement("2.6", _AREA, "Component keys have a meaning", component_keys, ("2.3",)),
    Statement("2.7", _AREA, "adapter_detail is useful", adapter_detail, ("2.3",)),
    Statement("2.8", _AREA, "The version is observed", observed_version, ("2.3",)),
)
