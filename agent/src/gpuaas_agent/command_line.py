"""The command line of the agent, but for `exec`; what it does is in `commands.py`."""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from gpuaas_agent import commands
from gpuaas_agent.facts.collect import SECTIONS, facts_collect, machine_reader
from gpuaas_agent.places import Places

OK, USAGE, INCOMPLETE = 0, 2, 3
PLACES = Places()

FACTS_HELP = """\
Print facts of this machine as one JSON object.

Facts are read, never guessed: a value that could not be read is null, and the list "unknown" says
which fact, where it was looked for, and why that failed. Some facts need root (the process behind
a listening port); without it they are listed as unknown. Nothing on the machine is changed.
"""

FACTS_EXAMPLES = """\
examples:
  gpuaas-agent facts                                 everything
  gpuaas-agent facts --section gpus --section cpu    only these sections
  gpuaas-agent facts --reference "$(date +%s.%N)"    with the clock's offset from a reference
  gpuaas-agent facts --strict || echo "see .unknown" complain when something could not be read
  gpuaas-agent facts --root /mnt/image               the files of a system that is not running

exit codes:
  0  printed        2  wrong usage        3  printed, but something is unknown (--strict only)
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    arguments = _parser().parse_args(argv)
    found: int = arguments.run(arguments)
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gpuaas-agent", description="The node agent: runs on a machine and speaks for it."
    )
    subcommands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    facts = subcommands.add_parser(
        "facts",
        help="print facts of this machine as JSON",
        description=FACTS_HELP,
        epilog=FACTS_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    facts.set_defaults(run=_facts_run)
    facts.add_argument(
        "--section",
        action="append",
        choices=SECTIONS,
        metavar="NAME",
        help=f"print this section only; may be repeated ({', '.join(SECTIONS)})",
    )
    facts.add_argument(
        "--reference",
        type=float,
        metavar="SECONDS",
        help="a reference clock's time in seconds since 1970, taken as the command starts;"
        " time.offset_seconds is then this clock minus the reference",
    )
    facts.add_argument(
        "--root", type=Path, default=Path("/"), metavar="PATH", help="read the system under PATH"
    )
    facts.add_argument(
        "--compact", action="store_true", help="one line of JSON instead of an indented text"
    )
    facts.add_argument(
        "--strict", action="store_true", help="exit with 3 when a fact could not be read"
    )
    _node_parsers(subcommands)
    return parser


def _node_parsers(subcommands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    enroll = subcommands.add_parser("enroll", help="become a node; the token comes by a pipe")
    enroll.add_argument("url", help="how this machine reaches the platform")
    enroll.add_argument("--ca-digest", help="SHA-256 of the authority of its certificate")
    enroll.set_defaults(run=_enroll)
    run = subcommands.add_parser("run", help="work for the platform (what the unit does)")
    run.set_defaults(run=_run)
    status = subcommands.add_parser("status", help="say what this machine is, as JSON")
    status.set_defaults(run=_status)
    unenroll = subcommands.add_parser("unenroll", help="stop being a node, and leave no trace")
    unenroll.add_argument("--reason", default="the host's administrator wants it")
    unenroll.add_argument("--force", action="store_true", help="also while somebody holds it")
    unenroll.add_argument("--offline", action="store_true", help="without telling the platform")
    unenroll.set_defaults(run=_unenroll)


def _facts_run(arguments: argparse.Namespace) -> int:
    return asyncio.run(_facts(arguments, time.time()))


def _enroll(arguments: argparse.Namespace) -> int:
    program = Path(sys.argv[0]).resolve()
    return commands.enroll(PLACES, arguments.url, arguments.ca_digest, program)


def _run(_: argparse.Namespace) -> int:
    return commands.run(PLACES)


def _status(_: argparse.Namespace) -> int:
    return commands.status(PLACES)


def _unenroll(arguments: argparse.Namespace) -> int:
    return commands.unenroll(
        PLACES, arguments.reason, force=arguments.force, offline=arguments.offline
    )


async def _facts(arguments: argparse.Namespace, received: float) -> int:
    reader = await machine_reader(arguments.root)
    facts = facts_collect(
        reader, arguments.section or SECTIONS, lambda: received, arguments.reference
    )
    layout = {"separators": (",", ":")} if arguments.compact else {"indent": 2}
    sys.stdout.write(json.dumps(facts, **layout) + "\n")
    return INCOMPLETE if arguments.strict and facts["unknown"] else OK
