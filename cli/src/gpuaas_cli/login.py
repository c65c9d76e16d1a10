"""`gpuaas login`: become somebody to a platform and keep that as a context; `gpuaas logout`."""

import asyncio
import getpass
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from cyclopts import Parameter

from gpuaas_cli.config import (
    Context,
    config_path,
    config_read,
    config_write,
)
from gpuaas_cli.options import Connection
from gpuaas_cli.session import Session, Stop, credentials, run
from gpuaas_contract.access import Whoami
from gpuaas_contract.identity import AuthMethods, PersonalTokenCreate, SignIn
from gpuaas_sdk import BearerToken, Client, NotFoundError, Request
from gpuaas_sdk.sign_in import password_sign_in

DAY = 86_400


@dataclass(frozen=True)
@Parameter(name="*")
class How:
    """How one proves who one is."""

    email: Annotated[str | None, Parameter(help="sign in with this email and a password")] = None
    password_file: Annotated[
        Path | None,
        Parameter(allow_leading_hyphen=True, help="file with the password; - reads standard input"),
    ] = None
    token: Annotated[
        bool, Parameter(negative="", help="read a personal token from standard input")
    ] = False
    key_file: Annotated[
        Path | None, Parameter(help="file with a service account's key; read at each command")
    ] = None
    days: Annotated[int, Parameter(help="how long the token made for you lives")] = 30


def login(
    *,
    name: Annotated[str | None, Parameter(help="of the context; the host's when left out")] = None,
    how: How | None = None,
    no_input: Annotated[
        bool, Parameter(name="--no-input", negative="", help="never ask; fail instead")
    ] = False,
    connection: Connection | None = None,
) -> int:
    """Sign in and keep it as a context, which becomes the current one.

    A person's email and password become a personal token; the password is kept nowhere. Where
    people sign in through an organisation's provider, make a personal token in the console and
    give it with --token. Automation gives --key-file.

    Examples
    --------
    $ gpuaas login --url https://gpuaas.example.org --email ada@example.org
    $ gpuaas login --key-file operator.key --project research
    """
    options = connection or Connection()
    chosen = how or How()

    async def sign_in(session: Session) -> int:
        url = session.context.url
        context = await _context(session.client, url, chosen, no_input=no_input)
        async with Client(url, credentials(context), user_agent="gpuaas-cli") as client:
            me = await client.get("/whoami", Whoami)
        tenant, project = _place(me)
        kept = Context(
            url=url,
            token=context.token,
            token_id=context.token_id or me.token_id,
            key_file=context.key_file,
            tenant=options.tenant or tenant,
            project=options.project or project,
            who=me.email or me.display_name or me.id,
        )
        label = name or urlsplit(url).hostname or "default"
        path = config_path()
        config_write(path, config_read(path).having(label, kept))
        where = f", in project {kept.project}" if kept.project else ""
        sys.stdout.write(f"signed in to {url} as {kept.who}{where}; context {label}\n")
        return 0

    anonymous = Connection(
        context=options.context, url=options.url, correlation_id=options.correlation_id
    )
    return run(anonymous, sign_in)


def logout(
    name: Annotated[str | None, Parameter(help="of the context; the current one")] = None,
    *,
    connection: Connection | None = None,
) -> int:
    """End the token of a context on the platform, and forget the context.

    Examples
    --------
    $ gpuaas logout
    """
    path = config_path()
    config = config_read(path)
    label = name or config.current
    if label is None or label not in config.contexts:
        sys.stderr.write(f"error: there is no context {label or 'chosen'}\n")
        return 1
    kept = config.contexts[label]

    async def end(_: Session) -> int:
        async with Client(kept.url, BearerToken(kept.token or "")) as client:
            with suppress(NotFoundError):  # ended already
                await client.send(Request("DELETE", f"/personal-tokens/{kept.token_id}"))
        return 0

    code = run(connection, end) if kept.token and kept.token_id else 0
    config_write(path, config.without(label))
    sys.stdout.write(f"forgot the context {label}\n")
    return code


async def _context(client: Client, url: str, how: How, *, no_input: bool) -> Context:
    if how.key_file is not None:
        return Context(url=url, key_file=str(how.key_file.resolve()))
    if how.token:
        return Context(url=url, token=(await asyncio.to_thread(sys.stdin.readline)).strip())
    methods = await client.get("/auth/methods", AuthMethods)
    if not methods.local:
        raise Stop(
            f"people sign in here through {methods.oidc.name if methods.oidc else 'a provider'}:"
            " make a personal token in the console and give it with `gpuaas login --token`."
        )
    asks = not no_input and sys.stdin.isatty()
    email = how.email or (await asyncio.to_thread(input, "email: ") if asks else None)
    if email is None:
        raise Stop("who? Give --email, --key-file or --token.")
    password = await asyncio.to_thread(_password, how.password_file, asks=asks)
    async with Client(url, user_agent="gpuaas-cli") as nobody:
        made = await password_sign_in(
            nobody,
            SignIn(email=email, password=password),
            PersonalTokenCreate(
                name=f"gpuaas on {socket.gethostname()}"[:100], expires_in_seconds=how.days * DAY
            ),
        )
    return Context(url=url, token=made.secret, token_id=made.id)


def _password(file: Path | None, *, asks: bool) -> str:
    if file is not None:
        try:
            text = sys.stdin.readline() if str(file) == "-" else file.read_text()
        except OSError as error:
            raise Stop(f"the password file cannot be read ({error.strerror})") from error
        return text.rstrip("\n")
    if not asks:
        raise Stop("no password: give --password-file.")
    return getpass.getpass("password: ")


def _place(me: Whoami) -> tuple[str | None, str | None]:
    """The tenant and project to begin with: where a role is held, if there is one such place."""
    places = [(one.scope.org_id, one.scope.project_id) for one in me.bindings]
    places.append((me.home.org_id, me.home.project_id))
    tenants = {org for org, _ in places if org}
    projects = {project for _, project in places if project}
    return (
        tenants.pop() if len(tenants) == 1 else None,
        projects.pop() if len(projects) == 1 else None,
    )
