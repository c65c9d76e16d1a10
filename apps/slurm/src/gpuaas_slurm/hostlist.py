"""Slurm's short form of node lists: ``gpu[01-03,7],login`` both ways. Pure."""

import re
from collections.abc import Iterable, Iterator


def expand(text: str) -> list[str]:
    """Return the names of a list, in its order."""
    return [name for part in _parts(text) for name in _expand_one(part)]


def compress(names: Iterable[str]) -> str:
    """Return the short form: runs of numbers of the same width under one prefix."""
    groups: dict[tuple[str, int], list[int]] = {}
    plain: list[str] = []
    for name in names:
        found = re.fullmatch(r"(.*?)(\d+)", name)
        if found is None:
            plain.append(name)
        else:
            # A width of 0 stands for "no leading zeros": 9 and 10 belong to one run.
            width = len(found[2]) if found[2] != "0" and found[2].startswith("0") else 0
            groups.setdefault((found[1], width), []).append(int(found[2]))
    short = [_group(prefix, width, numbers) for (prefix, width), numbers in groups.items()]
    return ",".join([*plain, *short])


def _parts(text: str) -> Iterator[str]:
    """Split at the commas outside brackets."""
    depth, start = 0, 0
    for at, letter in enumerate(text):
        depth += (letter == "[") - (letter == "]")
        if letter == "," and depth == 0:
            yield text[start:at]
            start = at + 1
    if depth:
        raise ValueError(f"unbalanced brackets in {text!r}")
    if text[start:]:
        yield text[start:]


def _expand_one(part: str) -> list[str]:
    prefix, opened, rest = part.partition("[")
    if not opened:
        return [part]
    inside, _, suffix = rest.partition("]")
    return [
        f"{prefix}{number}{tail}"
        for tail in (_expand_one(suffix) if suffix else [""])
        for number in _numbers(inside)
    ]


def _numbers(text: str) -> list[str]:
    found = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        width = len(first)
        stop = int(last) if dash else int(first)
        found += [f"{number:0{width}}" for number in range(int(first), stop + 1)]
    return found


def _group(prefix: str, width: int, numbers: list[int]) -> str:
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    shown = [
        f"{run[0]:0{width}}" if len(run) == 1 else f"{run[0]:0{width}}-{run[-1]:0{width}}"
        for run in runs
    ]
    alone = len(runs) == 1 and len(runs[0]) == 1
    return f"{prefix}{shown[0]}" if alone else f"{prefix}[{','.join(shown)}]"
