"""The command `gpuaas-lab`. Parses, calls the lab, shows the result; holds no rule of its own."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

from gpuaas_lab import (
    clock,
    doctor,
    image,
    layers,
    names,
    nspawn,
    packages,
    processes,
    provision,
    sources,
    status,
    store,
    teardown,
    terminal,
)
from gpuaas_lab.errors import HostNotReady, LabError, LabNotFound
from gpuaas_lab.lab import Lab
from gpuaas_lab.settings import Settings

app = App(
    name="gpuaas-lab",
    help="Real Debian machines on this host, made for demos, tests and breaking.",
    help_format="plaintext",
    help_epilogue=(
        "Begin with:  gpuaas-lab doctor   then   gpuaas-lab up 2   and   gpuaas-lab ssh n1\n"
        "Settings:    GPUAAS_LAB_NAME, GPUAAS_LAB_STATE, GPUAAS_LAB_CACHE, GPUAAS_LAB_RANGE, "
        "GPUAAS_LAB_SOURCES"
    ),
    version_flags=["--version"],
)

Name = Annotated[
    str, Parameter("--name", env_var="GPUAAS_LAB_NAME", help="The lab; several live side by side.")
]
Suite = Annotated[
    str | None, Parameter("--suite", help="bookworm, trixie, or the host's own (the default).")
]
Output = Annotated[
    Literal["text", "json"], Parameter(["--output", "-o"], help="For people or for programs.")
]
MachineName = Annotated[str, Parameter(help="The machine: n1, n2, …")]


def main() -> None:
    """Run the command; an expected failure is one line and its own exit code."""
    try:
        app()
    except LabError as error:
        terminal.error_show(error)
        sys.exit(error.exit_code)
    except PermissionError as error:
        refused = HostNotReady(f"may not touch {error.filename}", "run it with sudo")
        terminal.error_show(refused)
        sys.exit(refused.exit_code)
    except KeyboardInterrupt:
        terminal.err.print("gpuaas-lab: interrupted; `up` again goes on, `down` clears away")
        sys.exit(130)


@app.command(
    help_epilogue="Examples:\n  gpuaas-lab up 2\n  gpuaas-lab up 16 --suite trixie --name big"
)
async def up(
    count: Annotated[int, Parameter(help="How many machines the lab should have.")] = 2,
    *,
    suite: Suite = None,
    name: Name = "lab",
    output: Output = "text",
) -> None:
    """Bring a lab up: new machines are made, those that are off are booted, the rest is kept."""
    settings = Settings.from_environment()
    began = time.monotonic()
    with terminal.progress() as tell:
        lab = await Lab.start(name, count, suite=suite, settings=settings, tell=tell)
        await lab.close()
    if output == "json":
        terminal.json_show(status.lab_status(settings, name))
        return
    terminal.status_show([status.lab_status(settings, name)])
    terminal.say(f"up in {time.monotonic() - began:.1f} s; next: gpuaas-lab ssh n1{_flag(name)}")


@app.command(
    help_epilogue="Examples:\n  gpuaas-lab down\n  gpuaas-lab down --name big\n"
    "  gpuaas-lab down --all\n  gpuaas-lab down --orphans"
)
async def down(
    *,
    name: Name = "lab",
    every: Annotated[bool, Parameter("--all", negative=(), help="Every lab of this host.")] = False,
    orphans: Annotated[
        bool, Parameter(negative=(), help="Only labs whose program died without taking them down.")
    ] = False,
) -> None:
    """Remove a lab whole: processes, mounts, bridge, cables and disks. Repeating it is harmless."""
    settings = Settings.from_environment()
    if orphans:
        for lab in await teardown.orphans_remove(settings):
            terminal.say(f"lab {lab} is gone")
        return
    labs = teardown.labs_present(settings) if every else [name]
    for lab in labs:
        gone = await Lab.down(lab, settings)
        terminal.say(f"lab {lab} is gone" if gone else f"there was no lab {lab}")


@app.command(
    name="status",
    help_epilogue="Examples:\n  gpuaas-lab status\n  gpuaas-lab status --name big -o json",
)
def status_command(*, name: str | None = None, output: Output = "text") -> None:
    """Show the labs of this host, or one: power, addresses, memory, what was done to machines."""
    settings = Settings.from_environment()
    labs = [status.lab_status(settings, name)] if name else status.labs_status(settings)
    if output == "json":
        terminal.json_show(labs)
        return
    terminal.status_show(labs)


@app.command(
    help_epilogue="Examples:\n  gpuaas-lab ssh n1\n  gpuaas-lab ssh n1 -- systemctl --failed"
)
def ssh(
    machine: MachineName,
    *command: Annotated[str, Parameter(allow_leading_hyphen=True, help="Run this and return.")],
    name: Name = "lab",
) -> None:
    """Log in to a machine as root, or run a command there. The host key is pinned."""
    settings = Settings.from_environment()
    record = store.lab_load(settings, name)
    record.machine(machine)
    known = provision.known_hosts_path(settings, name)
    _become(
        *("ssh", "-F", "none", "-i", str(provision.key_path(settings, name))),
        *("-o", "IdentitiesOnly=yes", "-o", "StrictHostKeyChecking=yes"),
        *("-o", f"UserKnownHostsFile={known}", "-o", "GlobalKnownHostsFile=/dev/null"),
        *("-o", "LogLevel=ERROR", f"root@{record.address(machine)}", *command),
    )


@app.command(help_epilogue="Examples:\n  gpuaas-lab logs n1 -f\n  gpuaas-lab logs n2 --console")
def logs(
    machine: MachineName,
    *,
    lines: Annotated[int, Parameter(["--lines", "-n"])] = 100,
    follow: Annotated[bool, Parameter(["--follow", "-f"], negative=())] = False,
    console: Annotated[bool, Parameter(negative=(), help="The console, not the journal.")] = False,
    name: Name = "lab",
) -> None:
    """Show a machine's journal; also of a machine that is off, or the console of one that hangs."""
    settings = Settings.from_environment()
    store.lab_load(settings, name).machine(machine)
    folder = store.machine_folder(settings, name, machine)
    more = ("-f",) if follow else ()
    if console:
        _become("tail", "-n", str(lines), *more, str(nspawn.console_log(folder)))
    options = ("--no-pager", "-n", str(lines), *more)
    leader = processes.leaders(names.machine_id(name, machine)).get(names.machine_id(name, machine))
    if leader:
        _become("nsenter", f"--target={leader}", "--mount", "--root", "--", "journalctl", *options)
    _become("journalctl", "-D", str(folder / "upper/var/log/journal"), *options)


@app.command(help_epilogue="Example:\n  gpuaas-lab pull-plug n2    (then: gpuaas-lab boot n2)")
async def pull_plug(machine: MachineName, *, name: Name = "lab") -> None:
    """Power a machine off without a shutdown. Its disk stays."""
    lab = await Lab.attach(name)
    await lab.pull_plug(machine)
    terminal.say(f"{machine} is off")


@app.command(help_epilogue="Example:\n  gpuaas-lab boot n1 n2")
async def boot(machine: MachineName, *more: str, name: Name = "lab") -> None:
    """Power machines on and wait for SSH. One that is on is left alone."""
    lab = await Lab.attach(name)
    await lab.boot(machine, *more)
    await lab.close()
    terminal.say(f"{', '.join((machine, *more))}: on")


@app.command(
    help_epilogue="Examples:\n  gpuaas-lab cut n1              nothing gets in or out\n"
    "  gpuaas-lab cut n1 --to n2      n2 no longer hears n1, n1 still hears n2\n"
    "  gpuaas-lab cut n1 --to host    the host no longer hears n1"
)
async def cut(
    machine: Annotated[str, Parameter(help="The machine, or `host` together with --to.")],
    *,
    to: Annotated[str | None, Parameter(help="Only what it sends to this machine.")] = None,
    name: Name = "lab",
) -> None:
    """Partition the network: drop a machine's packets while its link stays up."""
    lab = await Lab.attach(name)
    await lab.cut(machine, to)
    terminal.say(f"{machine} → {to} is cut" if to else f"{machine} is cut off")


@app.command(help_epilogue="Examples:\n  gpuaas-lab heal n1\n  gpuaas-lab heal n1 --to n2")
async def heal(
    machine: Annotated[str, Parameter(help="The machine, or `host` together with --to.")],
    *,
    to: Annotated[str | None, Parameter(help="Only the cut towards this machine.")] = None,
    name: Name = "lab",
) -> None:
    """Undo cuts: every one the machine is part of, or the one named."""
    lab = await Lab.attach(name)
    await lab.heal(machine, to)
    terminal.say(f"{machine} → {to} is healed" if to else f"{machine} is healed")


@app.command(
    help_epilogue="Examples:\n  gpuaas-lab skew n1 300\n  gpuaas-lab skew n1 -3600\n"
    f"  gpuaas-lab skew n1 0       right again\n\n{clock.LIMITS}"
)
async def skew(
    machine: MachineName,
    seconds: Annotated[int, Parameter(allow_leading_hyphen=True, help="How far; 0 sets it right.")],
    *,
    name: Name = "lab",
) -> None:
    """Shift the wall clock that a machine's programs see, and restart its services."""
    lab = await Lab.attach(name)
    await lab.skew(machine, seconds)
    terminal.say(
        f"{machine}: clock {seconds:+d} s. {clock.LIMITS}" if seconds else f"{machine}: true time"
    )


@app.command(
    help_epilogue="Examples:\n  gpuaas-lab fake-gpus n1 8\n"
    "  gpuaas-lab fake-gpus n1 0    none again"
)
async def fake_gpus(
    machine: MachineName,
    count: Annotated[int, Parameter(help="How many; 0 takes them away.")],
    *,
    name: Name = "lab",
) -> None:
    """Give a machine fake GPUs: device nodes and an nvidia-smi, marked as the lab's."""
    lab = await Lab.attach(name)
    await lab.fake_gpus(machine, count)
    terminal.say(f"{machine} has {count} fake GPUs (lab only: they compute nothing)")


@app.command(
    help_epilogue="Examples:\n  gpuaas-lab fetch nginx-light\n"
    "  gpuaas-lab fetch postgresql --suite trixie --refresh"
)
async def fetch(
    package: Annotated[str, Parameter(help="A package of the suite.")],
    *more: str,
    suite: Suite = None,
    refresh: Annotated[bool, Parameter(negative=(), help="Fetch again, newer versions.")] = False,
    output: Output = "text",
) -> None:
    """Fetch packages with all the base image lacks for them, once, into the cache."""
    with terminal.progress() as tell:
        tell("fetch", f"{package} {' '.join(more)}")
        found = await packages.fetch(_suite(suite), [package, *more], refresh=refresh)
    if output == "json":
        terminal.json_show(terminal.set_plain(found))
        return
    terminal.sets_show([found])


@app.command(name="packages", help_epilogue="Example:\n  gpuaas-lab packages -o json")
def packages_command(*, output: Output = "text") -> None:
    """List the package sets in the cache."""
    found = packages.package_sets(Settings.from_environment())
    if output == "json":
        terminal.json_show([terminal.set_plain(item) for item in found])
        return
    terminal.sets_show(found)


@app.command(help_epilogue="Example:\n  gpuaas-lab install nginx-light --on n1 --on n2")
async def install(
    package: Annotated[str, Parameter(help="A package of the lab's suite.")],
    *more: str,
    on: Annotated[list[str] | None, Parameter(help="Only these machines.")] = None,
    name: Name = "lab",
) -> None:
    """Fetch packages (or take them from the cache) and install them on machines, all at once."""
    lab = await Lab.attach(name)
    with terminal.progress() as tell:
        tell("fetch", f"{package} {' '.join(more)}")
        found = await packages.fetch(lab.record.suite, [package, *more])
        chosen = on or [machine.name for machine in lab.machines]
        tell("apt", f"installing {len(found.files)} packages on {', '.join(chosen)}")
        await lab.install(chosen, found)
        await lab.close()
    terminal.say(f"installed on {', '.join(chosen)}: {', '.join(found.names)}")


@app.command(
    name="image",
    help_epilogue="Examples:\n  gpuaas-lab image --suite trixie\n  gpuaas-lab image --prune",
)
async def image_command(
    *,
    suite: Suite = None,
    rebuild: Annotated[bool, Parameter(negative=(), help="Build it again, with updates.")] = False,
    prune: Annotated[bool, Parameter(negative=(), help="Remove images nothing uses.")] = False,
) -> None:
    """Build the base image of a suite from the host's own package sources, if it is not there."""
    settings = Settings.from_environment()
    labs = list(store.lab_list(settings))
    in_use = {Path(record.image) for record in labs}
    if prune:
        below = {layer for lab in labs if (layer := store.lab_layer(settings, lab.name))}
        for path in (*image.image_prune(settings, in_use), *layers.layers_prune(settings, below)):
            terminal.say(f"removed {path}")
        return
    wanted = image.image_locate(settings, _suite(suite))
    if rebuild and wanted.root in in_use:
        raise LabError(f"a lab runs on the {wanted.suite} image", "gpuaas-lab down --all")
    if rebuild and wanted.root.exists():
        await asyncio.to_thread(shutil.rmtree, wanted.root)
    with terminal.progress() as tell:
        built = await image.image_ensure(settings, wanted.suite, lambda line: tell("image", line))
    terminal.say(f"{built.suite} image: {built.root}")


@app.command(
    name="doctor", help_epilogue="Examples:\n  gpuaas-lab doctor\n  gpuaas-lab doctor -o json"
)
async def doctor_command(*, suite: Suite = None, output: Output = "text") -> int:
    """Say whether this host can boot lab machines, and what to do about each thing missing."""
    findings = await doctor.examine(Settings.from_environment(), suite)
    if output == "json":
        terminal.json_show(findings)
    else:
        terminal.findings_show(findings)
    blocked = doctor.reason(findings) is not None
    if blocked and output == "text":
        terminal.say("Lab machines cannot boot here; real hosts can still be enrolled over SSH.")
    return 3 if blocked else 0


def _suite(suite: str | None) -> str:
    return suite or sources.default_suite(sources.host_release())


def _flag(name: str) -> str:
    return "" if name == "lab" else f" --name {name}"


def _become(*argv: str) -> None:
    sys.stdout.flush()
    try:
        os.execvp(argv[0], argv)  # noqa: S606 - an argument list, and the point is to become it
    except FileNotFoundError as error:
        raise LabNotFound(f"the command {argv[0]} is missing", "gpuaas-lab doctor") from error


if __name__ == "__main__":
    main()
