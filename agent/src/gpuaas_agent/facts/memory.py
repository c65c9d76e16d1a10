"""Memory: size, what is available now, swap and huge pages."""

from dataclasses import dataclass

from gpuaas_agent.facts.reading import Notes, Reader

MEMINFO = "/proc/meminfo"


@dataclass(frozen=True)
class MemoryFacts:
    """What `facts` prints under `memory`, in bytes."""

    total: int | None
    available: int | None
    swap_total: int | None
    huge_pages: int | None
    huge_page_size: int | None


def memory_facts(reader: Reader, notes: Notes) -> MemoryFacts:
    """Read the memory."""
    found = notes.take("memory", reader.parsed, MEMINFO, parse_meminfo) or {}
    wanted = ("MemTotal", "MemAvailable", "SwapTotal", "HugePages_Total", "Hugepagesize")
    if found:
        for name in (name for name in wanted if name not in found):
            notes.add(f"memory.{name}", MEMINFO, "this kernel does not report it")
    return MemoryFacts(*(found.get(name) for name in wanted))


def parse_meminfo(text: str) -> dict[str, int]:
    """Return the fields of /proc/meminfo, those in kB as bytes."""
    found: dict[str, int] = {}
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        words = rest.split()
        if words:
            found[name] = int(words[0]) * (1024 if words[1:] == ["kB"] else 1)
    if "MemTotal" not in found:
        raise ValueError("no line MemTotal")
    return found
