"""The packet programs drop exactly what a cut says: run here on frames, by a small interpreter."""

from __future__ import annotations

from gpuaas_lab.names import HOST, mac
from gpuaas_lab.partition import Filters, filters
from gpuaas_lab.store import Cut

LAB = "demo"
DROP = 2
IP, ARP = 0x0800, 0x0806


def frame(source: str, target: str, kind: int = IP) -> bytes:
    """An Ethernet header between two members of the lab."""
    return _bytes(mac(LAB, target)) + _bytes(mac(LAB, source)) + kind.to_bytes(2) + bytes(46)


def dropped(program: str | None, packet: bytes) -> bool:
    """Run a classic BPF program the way the kernel does."""
    if program is None:
        return False
    code = [tuple(map(int, line.split())) for line in program.split(",")[1:]]
    assert len(code) == int(program.split(",")[0])
    accumulator, at = 0, 0
    while True:
        operation, on_true, on_false, value = code[at]
        at += 1
        if operation == 0x20:
            accumulator = int.from_bytes(packet[value : value + 4])
        elif operation == 0x28:
            accumulator = int.from_bytes(packet[value : value + 2])
        elif operation == 0x15:
            at += on_true if accumulator == value else on_false
        else:
            assert operation == 0x06
            return value == DROP


def test_without_cuts_there_is_no_program() -> None:
    assert filters(LAB, "n1", []) == Filters(None, None)
    assert filters(LAB, "n1", [Cut("n2"), Cut("n2", "n1")]) == Filters(None, None)


def test_a_whole_cut_drops_everything_both_ways() -> None:
    cut = filters(LAB, "n1", [Cut("n1")])
    for kind in (IP, ARP):
        assert dropped(cut.ingress, frame("n1", "n2", kind))
        assert dropped(cut.egress, frame("n2", "n1", kind))


def test_a_one_way_cut_drops_what_is_sent_to_the_target_but_arp() -> None:
    cut = filters(LAB, "n1", [Cut("n1", "n2"), Cut("n1", "n4")])
    assert dropped(cut.ingress, frame("n1", "n2"))
    assert dropped(cut.ingress, frame("n1", "n4"))
    assert not dropped(cut.ingress, frame("n1", "n3"))
    assert not dropped(cut.ingress, frame("n1", HOST))
    assert not dropped(cut.ingress, frame("n1", "n2", ARP))
    assert cut.egress is None


def test_a_cut_from_the_host_is_made_where_it_would_arrive() -> None:
    cut = filters(LAB, "n1", [Cut(HOST, "n1")])
    assert dropped(cut.egress, frame(HOST, "n1"))
    assert not dropped(cut.egress, frame("n2", "n1"))
    assert cut.ingress is None


def test_many_targets_fit_one_program() -> None:
    cuts = [Cut("n1", f"n{number}") for number in range(2, 18)]
    program = filters(LAB, "n1", cuts).ingress
    assert all(dropped(program, frame("n1", cut.target)) for cut in cuts)
    assert not dropped(program, frame("n1", "n99"))


def _bytes(address: str) -> bytes:
    return bytes.fromhex(address.replace(":", ""))
