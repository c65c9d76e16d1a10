"""Which packets a cut drops, as small classic BPF programs for tc.

Pure. A program hangs on the host end of a machine's cable, so it goes away with the machine and
needs no firewall tool: `ingress` sees what the machine sends, `egress` what it would receive. The
machine's carrier stays up, as it does when a switch in the middle fails.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gpuaas_lab.names import HOST, mac
from gpuaas_lab.store import Cut

_LOAD_WORD, _LOAD_HALF, _JUMP_EQUAL, _RETURN = 0x20, 0x28, 0x15, 0x06
_DROP, _PASS = 2, 0xFFFFFFFF  # TC_ACT_SHOT and TC_ACT_UNSPEC
_TARGET_OFFSET, _SOURCE_OFFSET, _TYPE_OFFSET = 0, 6, 12
_ARP = 0x0806


@dataclass(frozen=True)
class Filters:
    """The two programs of one machine's cable; none where nothing is dropped."""

    ingress: str | None
    egress: str | None


def filters(lab: str, machine: str, cuts: Iterable[Cut]) -> Filters:
    """The programs that make the cuts true for this machine's cable."""
    known = list(cuts)
    if Cut(machine) in known:
        everything = _render([(_RETURN, 0, 0, _DROP)])
        return Filters(everything, everything)
    targets = [mac(lab, cut.target) for cut in known if cut.source == machine]
    # The host has no cable of its own: what it sends is dropped where it would arrive.
    sources = [mac(lab, HOST) for cut in known if cut == Cut(HOST, machine)]
    return Filters(
        ingress=_dropping(targets, _TARGET_OFFSET) if targets else None,
        egress=_dropping(sources, _SOURCE_OFFSET) if sources else None,
    )


def _dropping(hardware: list[str], offset: int) -> str:
    """Drop frames whose address at the offset is listed, except ARP.

    ARP passes because a one-way cut must not break the other direction: its answers travel back
    along the cut way.
    """
    length = 4 * len(hardware)
    program = [(_LOAD_HALF, 0, 0, _TYPE_OFFSET), (_JUMP_EQUAL, length, 0, _ARP)]
    for index, address in enumerate(hardware):
        left = length - 4 * (index + 1)
        head, tail = _halves(address)
        program += [
            (_LOAD_HALF, 0, 0, offset),
            (_JUMP_EQUAL, 0, 2, head),
            (_LOAD_WORD, 0, 0, offset + 2),
            (_JUMP_EQUAL, left + 1, 0, tail),
        ]
    program += [(_RETURN, 0, 0, _PASS), (_RETURN, 0, 0, _DROP)]
    return _render(program)


def _halves(address: str) -> tuple[int, int]:
    digits = address.replace(":", "")
    return int(digits[:4], 16), int(digits[4:], 16)


def _render(program: list[tuple[int, int, int, int]]) -> str:
    lines = (" ".join(map(str, line)) for line in program)
    return f"{len(program)},{','.join(lines)}"
