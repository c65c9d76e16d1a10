"""Every command there is, as cyclopts parses it; only what a command line names is made.

Loaded by `main.py` when a command really runs. `make openapi` writes the whole of it down as
`data/surface.json`, from which help and completion are answered without any of this.
"""

import sys
from collections.abc import Sequence
from functools import cache

from cyclopts import App, CycloptsError, Group, MissingArgumentError

from gpuaas_cli.book import noun_names, noun_operations
from gpuaas_cli.declared import command_declared
from gpuaas_cli.generated import noun_app
from gpuaas_cli.surface import Command, command_at

_EVERYDAY = Group("Everyday", sort_key=1)
_LOOKING = Group("Looking into things", sort_key=2)
_PROVING = Group("Proving it", sort_key=3)

# Name, module:function, one line of help, group.
_COMMANDS = (
    ("login", "login:login", "Sign in and keep it as a context.", _EVERYDAY),
    ("logout", "login:logout", "End the token of a context and forget it.", _EVERYDAY),
    ("whoami", "whoami:whoami", "Show who you are and what you may do where.", _EVERYDAY),
    ("status", "status:status", "Show whether the platform is ready.", _EVERYDAY),
    ("deploy", "deploy:deploy", "Deploy an app of the catalog.", _EVERYDAY),
    ("ssh", "ssh:ssh", "Log in to an allocation by a certificate of minutes.", _EVERYDAY),
    ("ssh-config", "ssh:ssh_config", "Print an entry for your own ssh.", _EVERYDAY),
    ("trace", "trace:trace", "Show everything that carries a correlation id.", _LOOKING),
    ("explain", "explain:explain", "Explain a noun, or one of its fields.", _LOOKING),
    ("schema", "explain:schema", "Print a type as JSON Schema.", _LOOKING),
    ("api", "api:api", "Call any route of the API with your identity.", _LOOKING),
    ("completion", "completion:completion", "Print the completion of a shell.", _LOOKING),
    ("smoke", "proof.commands:smoke", "Run the day-2 smoke test of an app.", _PROVING),
)
# Verbs made by hand, beside or instead of generated ones.
_VERBS: dict[str, dict[str, tuple[str, str]]] = {
    "context": {
        "list": ("context:context_list", "List the contexts."),
        "use": ("context:context_use", "Choose the context that is used by default."),
        "show": ("context:context_show", "Show a context, without its secret."),
        "set": ("context:context_set", "Choose the tenant and project of a context."),
        "remove": ("context:context_remove", "Forget a context."),
    },
    "instance": {
        "show": ("instance:show", "Show an instance: status, members, what can be done."),
        "watch": ("instance:watch", "Follow an instance as it changes."),
        "run": ("instance:run_operation", "Ask for any operation of the app's manifest."),
        "delete": ("instance:delete", "Decommission an instance, with proof."),
    },
    "member": {
        "add": ("member:add", "Add members on allocations."),
        "drain": ("member:drain", "Take members out of service."),
        "resume": ("member:resume", "Put drained members back into service."),
        "remove": ("member:remove", "Remove members and clean their machines."),
        "replace": ("member:replace", "Put another machine in a member's place."),
    },
    "operation": {
        "watch": ("operation:watch", "Follow the steps of an operation."),
        "retry": ("operation:retry", "Try a failed operation again."),
        "cancel": ("operation:cancel", "Stop an operation at the next safe point."),
    },
    "app": {"check": ("proof.commands:app_check", "Check an app's readiness for onboarding.")},
    "node": {"enroll": ("node:enroll", "Enrol a host as a node, by one command run on it.")},
    "artifact": {"publish": ("artifact:publish", "Send a file into an artifact source.")},
    "usage": {"instance": ("usage:instance", "Show what an instance used, and its cost.")},
    "mcp": {"serve": ("agents.commands:serve", "Give agents the same verbs as tools.")},
    "validate": {
        "slice": ("proof.commands:validate_slice", "Run the founding validation on a machine."),
    },
}
_SINGLE = {name for name, *_ in _COMMANDS}
_OTHER_NAMES = {
    "instance": ("app-instance",),
    "member": ("worker", "app-member"),
    "operation": ("op",),
}
_HELP = {
    "context": "platforms and identities you work with",
    "mcp": "tools for agents",
    "validate": "prove the contract on a real machine",
}
_GROUPS = {
    "context": _EVERYDAY,
    "instance": _EVERYDAY,
    "member": _EVERYDAY,
    "operation": _EVERYDAY,
    "mcp": _LOOKING,
    "validate": _PROVING,
}


def run(words: Sequence[str]) -> int:
    """Run a command line and return its exit code."""
    app = make_app(words)
    try:
        answer = app(words, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        asked, _ = command_at(words)
        line = " ".join(["gpuaas", *asked.words])
        sys.stderr.write(f"error: {_wrong(error, asked)}\n  `{line} --help` tells more\n")
        return 1
    return answer if isinstance(answer, int) else 0


def _wrong(error: CycloptsError, asked: Command) -> str:
    """What is wrong with a line; a word that is missing by the name its help has."""
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        missing = error.argument.field_info.name
        for option in asked.options:
            if option.placed and option.to == missing:
                return f"{' '.join(asked.words)} needs {option.names[0]}"
    return str(error)


def make_app(words: Sequence[str], *, whole: bool = False) -> App:
    """The command line; the verbs only of nouns among these words, unless it shall be whole."""
    app = App(
        name="gpuaas",
        help="""Work with a GPUaaS platform.

        `gpuaas login` keeps a platform and who you are to it as a context; the variables
        GPUAAS_URL, GPUAAS_TOKEN and GPUAAS_KEY_FILE do without one.
        """,
    )
    wanted = None if whole else _wanted(words)
    for name, target, text, group in _COMMANDS:
        if wanted in {None, name}:
            app.command(command_declared(target), name=name, help=text, group=group)
    for noun in sorted({*noun_names(), *_VERBS} - {"whoami"}) if wanted not in _SINGLE else ():
        if wanted in {None, noun}:
            app.command(_noun(noun, whole=whole or wanted == noun))
    return app


def _wanted(words: Sequence[str]) -> str | None:
    """The command or noun a command line begins with; None when all must be shown."""
    first = words[0] if words else ""
    first = next((noun for noun, names in _OTHER_NAMES.items() if first in names), first)
    return first if first in _SINGLE or first in _VERBS or first in noun_names() else None


def _noun(noun: str, *, whole: bool) -> App:
    generated = noun_operations(noun)
    names = _OTHER_NAMES.get(noun, ())
    by_hand = _VERBS.get(noun, {})
    text = _HELP.get(noun) or ", ".join(sorted({*by_hand, *(one.verb for one in generated)}))
    if not whole:
        made = App(name=(noun, *names), help=text)
    else:
        verbs = [one for one in generated if one.verb not in by_hand]
        made = noun_app(noun, verbs, names=names)
        made.help = text
        for verb, (target, said) in by_hand.items():
            made.command(command_declared(target), name=verb, help=said)
    made.group = _GROUPS.get(noun) or _room(generated[0].room)
    return made


@cache
def _room(name: str) -> Group:
    return Group(f"More: {name}", sort_key=50)
