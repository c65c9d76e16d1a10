"""Run the whole test suite, search it for instability, or repeat its flaky tests.

    python -m tools.suite test              every stage, one slice of each matrix
    python -m tools.suite soak              everything, again and again with new seeds, for a time
    python -m tools.suite flaky [TEST …]    the recorded tests, many times under load

`make test`, `make soak` and `make flaky` call these.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path

from tools.progress import CACHE
from tools.suite.endurance import Soak, flaky_repeat
from tools.suite.flaky import FlakyRecord
from tools.suite.pytest_run import PytestBroke
from tools.suite.whole import WORKERS, StageFailed, WholeRun


def main(arguments: list[str]) -> int:
    """Run a command; the exit status is 0 when it was green."""
    parser = argparse.ArgumentParser(prog="python -m tools.suite", description="Run the suite.")
    commands = parser.add_subparsers(dest="command", required=True)
    test = commands.add_parser("test", help="every stage, one slice of each matrix")
    test.add_argument("--only", nargs="+", default=(), metavar="TEST", help="these tests alone")
    test.add_argument("--workers", type=int, default=WORKERS, help=f"at once ({WORKERS})")
    parser.add_argument("--records", type=Path, default=CACHE, help="where records are kept")
    soak = commands.add_parser("soak", help="everything, with new seeds, for a given time")
    soak.add_argument("--hours", type=float, default=1.0, help="begin no new round after this long")
    soak.add_argument("--only", nargs="+", default=(), metavar="TEST", help="these tests alone")
    soak.add_argument("--seed", type=int, help="begin with this seed instead of a random one")
    flaky = commands.add_parser("flaky", help="recorded flaky tests, many times under load")
    flaky.add_argument("--times", type=int, default=50, help="how often each runs (50)")
    flaky.add_argument("tests", nargs="*", help="instead of the recorded ones")
    options = parser.parse_args(arguments)
    for number in (signal.SIGINT, signal.SIGTERM):
        # A script's background job ignores interrupts; a run that was asked to end cleans up.
        signal.signal(number, signal.default_int_handler)
    try:
        if options.command == "soak":
            return Soak(options.records, options.only).run(options.hours, options.seed)
        if options.command == "flaky":
            return flaky_repeat(FlakyRecord(options.records), options.tests, options.times)
        return WholeRun(options.records, options.only, options.workers).run()
    except (StageFailed, PytestBroke) as error:
        print(f"\n  suite: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\n  suite: interrupted; what the run had started is gone", file=sys.stderr)
        return 130


if __name__ == "__main__":
    # The children of a Python with a hash seed have it too; only a soak sets one.
    os.environ.pop("PYTHONHASHSEED", None)
    sys.exit(main(sys.argv[1:]))
