"""SQL of the operate room."""

from gpuaas_platform.kernel.database import Connection


async def schema_revision(conn: Connection) -> int:
    """The revision the database is at."""
    return int(await conn.fetchval("SELECT coalesce(max(revision), 0) FROM schema_revisions"))
