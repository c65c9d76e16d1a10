"""SQL of lists over many places: rows a caller may see, in key order, at a flat cost.

Used by stores whose tables have `org_id` and `project_id` with an index on each beside the key. A
list over a handful of tenants or projects walks each one's index and merges, so that it costs what
it returns and not what others have written.
"""

from dataclasses import dataclass, field

from gpuaas_platform.kernel.caller import Reach


@dataclass
class Conditions:
    """Conditions that all hold, with their arguments. Texts are code, values are arguments."""

    texts: list[str] = field(default_factory=list)
    args: list[object] = field(default_factory=list)

    def add(self, text: str, value: object) -> str:
        """Add a condition; `{}` in it is the value. Returns it as it stands in the statement."""
        self.args.append(value)
        self.texts.append(text.replace("{}", f"${len(self.args)}"))
        return self.texts[-1]

    def add_given(self, text: str, value: object | None) -> bool:
        """Add a condition if its value was given; says whether it was."""
        if value is None:
            return False
        self.add(text, value)
        return True


@dataclass(frozen=True)
class Kind:
    """A column with few different values and an index before the key; a condition on it alone."""

    column: str
    condition: str


@dataclass(frozen=True)
class Listing:
    """What to list: a table, the key it is ordered by, and how many rows at most.

    `narrow`: a condition on an indexed column picks few rows, of which the reach is only checked.
    `kind`: rows of some kinds only, which may be rare among all.
    """

    table: str
    key: str
    limit: int
    descending: bool = True
    narrow: bool = False
    kind: Kind | None = None


def listing_sql(listing: Listing, conditions: Conditions, reach: Reach) -> str:
    """A SELECT of all columns of the rows in reach; takes its arguments from `conditions`."""
    order = f"ORDER BY {listing.key} {'DESC' if listing.descending else 'ASC'}"
    tail = f"{order} LIMIT {listing.limit:d}"
    if reach.everywhere and listing.kind is not None and not listing.narrow:
        return _by_kind(listing, listing.kind, _all(conditions.texts), tail)
    if reach.everywhere:
        return f"SELECT * FROM {listing.table} WHERE {_all(conditions.texts)} {tail}"  # noqa: S608 - code, no values
    orgs = _argument(conditions, list(reach.org_ids))
    projects = _argument(conditions, list(reach.project_ids))
    within = f"(org_id = ANY({orgs}::text[]) OR project_id = ANY({projects}::text[]))"
    if listing.narrow:
        return f"SELECT * FROM {listing.table} WHERE {_all([*conditions.texts, within])} {tail}"  # noqa: S608 - code, no values
    of_org = _all([*conditions.texts, "org_id = place"])
    outside = f"(org_id IS NULL OR org_id <> ALL({orgs}::text[]))"
    of_project = _all([*conditions.texts, "project_id = place", outside])
    return (
        f"SELECT * FROM (SELECT r.* FROM unnest({orgs}::text[]) AS place CROSS JOIN LATERAL"  # noqa: S608 - code, no values
        f" (SELECT * FROM {listing.table} WHERE {of_org} {tail}) AS r"
        f" UNION ALL SELECT r.* FROM unnest({projects}::text[]) AS place CROSS JOIN LATERAL"
        f" (SELECT * FROM {listing.table} WHERE {of_project} {tail}) AS r) AS found {tail}"
    )


def _by_kind(listing: Listing, kind: Kind, condition: str, tail: str) -> str:
    """Walk the index of each kind that is wanted; the kinds are found by leaps over the index."""
    column, table = kind.column, listing.table
    leap = f"(SELECT min({column}) FROM {table} WHERE {column} > kinds.{column})"  # noqa: S608 - code, no values
    return (
        f"WITH RECURSIVE kinds AS (SELECT min({column}) AS {column} FROM {table}"  # noqa: S608 - code, no values
        f" UNION ALL SELECT {leap} FROM kinds WHERE {column} IS NOT NULL)"
        f" SELECT found.* FROM (SELECT r.* FROM (SELECT {column} AS wanted FROM kinds"
        f" WHERE {kind.condition}) AS k CROSS JOIN LATERAL (SELECT * FROM {table}"
        f" WHERE {column} = wanted AND {condition} {tail}) AS r) AS found {tail}"
    )


def _argument(conditions: Conditions, value: object) -> str:
    conditions.args.append(value)
    return f"${len(conditions.args)}"


def _all(texts: list[str]) -> str:
    return " AND ".join(texts) or "true"
