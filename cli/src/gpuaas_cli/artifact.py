"""`gpuaas artifact publish`: send a file into an artifact source, resumed where it broke off."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from gpuaas_cli.options import Connection
from gpuaas_cli.output import show
from gpuaas_cli.said import Group, Parameter
from gpuaas_cli.session import Session, Stop, run
from gpuaas_sdk.artifacts import ArtifactFailed, Publication, artifact_publish


@Parameter(name="*", group=Group("The artifact", sort_key=5))
@dataclass(frozen=True, kw_only=True)
class What:
    """What the file is published as."""

    source: Annotated[str, Parameter(help="artifact source: id, name or address")]
    name: Annotated[str, Parameter(help="name of the artifact")]
    version: Annotated[str, Parameter(help="its version")]
    platform: Annotated[str | None, Parameter(help="such as linux-amd64; any if absent")] = None
    description: Annotated[str, Parameter(help="a sentence for people")] = ""
    signature: Annotated[Path | None, Parameter(help="file with its detached signature")] = None


def publish(
    file: Annotated[Path, Parameter(help="the file to send")],
    *,
    what: What,
    connection: Connection | None = None,
) -> int:
    """Publish a file: hashed here, sent in parts, checked there; a repeat sends what is missing.

    Examples
    --------
    $ gpuaas artifact publish tools.tar --source base --name tools --version 1.4.2
    """

    async def command(session: Session) -> int:
        if not file.is_file():
            raise Stop(f"{file} is not a file")
        signature = (
            what.signature.read_text(encoding="utf-8").strip()
            if what.signature is not None
            else None
        )
        wanted = Publication(
            source=what.source,
            name=what.name,
            version=what.version,
            description=what.description,
            signature=signature,
            **({} if what.platform is None else {"platform": what.platform}),
        )
        try:
            made = await artifact_publish(session.client, file, wanted)
        except ArtifactFailed as failed:
            raise Stop(f"{failed.code}: {failed.message}") from failed
        show(made.model_dump(mode="json"), session.options.output)
        return 0

    return run(connection, command)
