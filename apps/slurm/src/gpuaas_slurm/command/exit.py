"""How a command ends, and how it says why."""

import argparse

OK, FAILED, USAGE = 0, 1, 2


class CommandError(Exception):
    """The command could not do its work: one line for the person."""


def described(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    text: str,
    epilog: str = "",
) -> argparse.ArgumentParser:
    """Add a command whose help is its text as written; the first line is the summary."""
    return commands.add_parser(
        name,
        help=text.splitlines()[0].rstrip(".").lower(),
        description=text,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
