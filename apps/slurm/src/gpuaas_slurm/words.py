"""Numbers in sentences people read. Pure."""


def counted(number: int, one: str, many: str = "") -> str:
    """A number of things: `1 job runs`, `2 jobs run`; without `many` an s is added."""
    return f"{number} {one if number == 1 else many or f'{one}s'}"
