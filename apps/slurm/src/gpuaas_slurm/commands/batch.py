"""Several questions in one round trip: a script that asks them all, and the answers it brings.

The commands stay those of `Slurm`: it is given a runner that answers from what was brought. Answers
travel packed: a queue's JSON is long and says the same words again and again. Pure.
"""

import base64
import gzip
import shlex
from collections.abc import Iterable, Mapping, Sequence

from gpuaas_slurm.commands.run import Result, Runner

Argv = tuple[str, ...]
MARK = "answer"
FOLDER = "gpuaas-slurm.XXXXXX"


def batch_script(questions: Sequence[Sequence[str]], meanwhile: str = "", when: str = ":") -> str:
    """Return a script that runs the commands at once and says how each ended and what it printed.

    `meanwhile` is a script that runs, and prints, before that; nothing is asked unless `when`.
    """
    pack = 'pack() { [ ! -s "$answers/$1" ] || gzip -1 <"$answers/$1" | base64 -w0; }'
    # In /run first: any user can fill /tmp. Without a folder nothing is asked.
    lines = [f"answers=$(mktemp -d -p /run {FOLDER} 2>/dev/null || mktemp -d)", pack]
    lines.append(f'if [ -n "$answers" ] && {when}; then')
    for number, argv in enumerate(questions):
        said = f'"$(pack out{number})" "$(pack err{number})" >"$answers/{number}"'
        lines += [
            f'{{ {shlex.join(argv)} >"$answers/out{number}" 2>"$answers/err{number}" </dev/null',
            f'printf "{MARK}\\t%s %s %s\\n" $? {said}; }} &',
        ]
    lines += [":", "fi", meanwhile, "wait"]
    lines += [f'[ ! -e "$answers/{one}" ] || cat "$answers/{one}"' for one in range(len(questions))]
    return "\n".join([*lines, '[ -z "$answers" ] || rm -rf "$answers"', ""])


def batch_answers(questions: Iterable[Sequence[str]], text: str) -> dict[Argv, Result]:
    """Return each command's result from what the script printed; other lines are passed over."""
    lines = [line.split("\t", 1)[1] for line in text.splitlines() if line.startswith(f"{MARK}\t")]
    asked = list(questions)
    if len(lines) != len(asked):
        raise ValueError(f"{len(lines)} of {len(asked)} came; is /run of the machine full?")
    return {
        tuple(argv): _answer(tuple(argv), line) for argv, line in zip(asked, lines, strict=True)
    }


def answering(answers: Mapping[Argv, Result]) -> Runner:
    """Return a runner that gives the answers that were brought; what was not asked is a bug."""

    async def run(argv: Sequence[str]) -> Result:
        return answers[tuple(argv)]

    return run


def _answer(argv: Argv, line: str) -> Result:
    code, out, err = line.split(" ")
    return Result(argv, int(code), _unpacked(out), _unpacked(err))


def _unpacked(text: str) -> str:
    return gzip.decompress(base64.b64decode(text)).decode(errors="replace") if text else ""
