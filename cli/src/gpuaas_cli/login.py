"""`gpuaas login`: become somebody to a platform and keep that as a context; `gpuaas logout`."""

import asyncio
import os
import socket
import sys
import webbrowser
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urljoin, urlsplit

from gpuaas_cli.config import (
    Context,
    config_path,
    config_read,
    config_write,
)
from gpuaas_cli.options import Connection
from gpuaas_cli.output import note
from gpuaas_cli.prompts import code_read, line_read, password_read
from gpuaas_cli.said import Parameter
from gpuaas_cli.session import Clients, Session, Stop, run
from gpuaas_sdk import NotFoundError, Request
from gpuaas_sdk.sign_in import (
    device_sign_in_begin,
    device_sign_in_finish,
    password_sign_in,
)

DAY = 86_400


@dataclass(frozen=True)
@Parameter(name="*")
class How:
    """How one proves who one is."""

    email: Annotated[str | None, Parameter(help="sign in with this email and a password")] = None
    account: Annotated[
        str | None, Parameter(help="which account, where the password is that of several")
    ] = None
    password_file: Annotated[
        Path | None,
        Parameter(allow_leading_hyphen=True, help="file with the password; - reads standard input"),
    ] = None
    code: Annotated[
        str | None,
        Parameter(help="code of your authenticator app, or a recovery code; asked for if needed"),
    ] = None
    token: Annotated[
        bool, Parameter(negative="", help="read a personal token from standard input")
    ] = False
    key_file: Annotated[
        Path | None, Parameter(help="file with a service account's key; read at each command")
    ] = None
    browser: Annotated[
        bool,
        Parameter(negative="", help="show a code and let a browser anywhere say who you are"),
    ] = False
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

    Without further words it shows a code and an address: whoever opens it in a browser, on this
    machine or another, and signs in there as always, with a password or through the organisation's
    provider, lets this terminal in. With --email a password does it here; it is kept nowhere. An
    account with a second factor needs its code too: it is asked for, or given by --code.
    --token reads a personal token. Automation gives --key-file.

    Examples
    --------
    $ gpuaas login --url https://gpuaas.example.org
    $ gpuaas login --url https://gpuaas.example.org --email ada@example.org
    $ gpuaas login --key-file operator.key --project research
    """
    options = connection or Connection()
    chosen = how or How()

    async def sign_in(session: Session) -> int:
        url = session.context.url
        nobody = Clients(Context(url=url))  # whoever the present context is has no part in it
        try:
            context = await _context(nobody, chosen, no_input=no_input)
        finally:
            await nobody.close()
        me = (await _called(context, Request("GET", "/whoami"))).json()
        tenant, project = _place(me)
        kept = Context(
            url=url,
            token=context.token,
            token_id=context.token_id or me["token_id"],
            key_file=context.key_file,
            tenant=options.tenant or tenant,
            project=options.project or project,
            who=me.get("email") or me["display_name"] or me["id"],
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
        with suppress(NotFoundError):  # ended already
            await _called(kept, Request("DELETE", f"/personal-tokens/{kept.token_id}"))
        return 0

    code = run(connection, end) if kept.token and kept.token_id else 0
    config_write(path, config.without(label))
    sys.stdout.write(f"forgot the context {label}\n")
    return code


async def _context(nobody: Clients, how: How, *, no_input: bool) -> Context:
    url = nobody.url
    if how.key_file is not None:
        return Context(url=url, key_file=str(how.key_file.resolve()))
    if how.token:
        token = line_read().strip()
        if not token:
            raise Stop("no token: --token reads it from standard input.")
        return Context(url=url, token=token)
    asks = not no_input and sys.stdin.isatty()
    if how.browser or (how.email is None and asks):
        return await _by_browser(nobody, how)
    if how.email is None:
        raise Stop("who? Give --browser, --email, --key-file or --token.")
    password = _password(how.password_file, asks=asks)
    who = _who(how, password)
    made = await password_sign_in(nobody.calls, who, _wanted(how), code_read if asks else None)
    return Context(url=url, token=made.secret, token_id=made.id)


async def _by_browser(nobody: Clients, how: How) -> Context:
    """Show a code, and wait until somebody has let it in."""
    begun = await device_sign_in_begin(nobody.calls, _wanted(how))
    page = urljoin(f"{nobody.url}/", begun.verification_url)
    note(f"open {page}")
    note(f"and see that it shows the code {begun.user_code}")
    if sys.stderr.isatty() and _has_browser():
        await asyncio.to_thread(webbrowser.open, page)
    made = await device_sign_in_finish(nobody.calls, begun)
    return Context(url=nobody.url, token=made.secret, token_id=made.id)


async def _called(context: Context, request: Request) -> Any:  # noqa: ANN401 - a response
    """One call as whoever the context makes us."""
    clients = Clients(context)
    try:
        return await clients.calls.send(request)
    finally:
        await clients.close()


def _has_browser() -> bool:
    """Whether there is a screen to open a browser on; a text browser would take the terminal."""
    return sys.platform == "darwin" or bool({"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys())


def _who(how: How, password: str) -> dict[str, Any]:
    code = {} if how.code is None else {"code": how.code}
    account = {} if how.account is None else {"user_id": how.account}
    return {"email": str(how.email), "password": password, **account, **code}


def _wanted(how: How) -> dict[str, Any]:
    """The token that is asked for."""
    name = f"gpuaas on {socket.gethostname()}"[:100]
    return {"name": name, "expires_in_seconds": how.days * DAY}


def _password(file: Path | None, *, asks: bool) -> str:
    if file is not None:
        try:
            if str(file) == "-":
                return line_read()
            return file.read_text(encoding="utf-8").rstrip("\n")
        except OSError as error:
            raise Stop(f"the password file cannot be read ({error.strerror})") from error
    if not asks:
        raise Stop("no password: give --password-file.")
    return password_read()


def _place(me: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """The tenant and project to begin with: where a role is held, if there is one such place."""
    held = [*(one["scope"] for one in me["bindings"]), me["home"]]
    places = [(one["org_id"], one["project_id"]) for one in held]
    tenants = {org for org, _ in places if org}
    projects = {project for _, project in places if project}
    return (
        tenants.pop() if len(tenants) == 1 else None,
        projects.pop() if len(projects) == 1 else None,
    )
