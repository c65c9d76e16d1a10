"""`gpuaas completion`: a few lines for a shell that ask the program itself, and its answer to them.

The answer (`gpuaas __complete WORD...`, the last word being typed) is given before any command is
loaded; it calls nobody, so it knows commands, options, their values and contexts, not names of
things on a platform.
"""

import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Literal

from gpuaas_cli.surface import Command, Option, command, command_at

_FILES = ":files"  # tells the shell to complete names of files
_HELP = Option(("--help",), "switch", "show help", "Options")

_BASH = """\
# bash completion of gpuaas
_gpuaas() {
    local word
    COMPREPLY=()
    while IFS=$'\\t' read -r word _; do
        if [[ $word == :files ]]; then
            compopt -o default
            COMPREPLY=()
            return
        fi
        COMPREPLY+=("$word")
    done < <("$1" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _gpuaas gpuaas
"""
_ZSH = """\
#compdef gpuaas
# zsh completion of gpuaas
_gpuaas() {
    local -a found
    local word said
    while IFS=$'\\t' read -r word said; do
        if [[ $word == :files ]]; then
            _files
            return
        fi
        found+=("${word//:/\\\\:}:$said")
    done < <("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)
    _describe gpuaas found
}
if [[ $funcstack[1] == _gpuaas ]]; then
    _gpuaas "$@"
else
    compdef _gpuaas gpuaas
fi
"""
_FISH = """\
# fish completion of gpuaas
function __gpuaas_complete
    set -l token (commandline -ct)
    set -l before (commandline -opc)
    for line in ($before[1] __complete $before[2..-1] "$token" 2>/dev/null)
        if test "$line" = :files
            __fish_complete_path "$token"
        else
            echo $line
        end
    end
end
complete -c gpuaas -f -a '(__gpuaas_complete)'
"""
_SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def completion(shell: Literal["bash", "zsh", "fish"]) -> int:
    """Print the completion of a shell: a few lines, which ask this program at each press of Tab.

    Examples
    --------
    $ gpuaas completion bash > ~/.local/share/bash-completion/completions/gpuaas
    $ gpuaas completion zsh > "${fpath[1]}/_gpuaas"
    $ gpuaas completion fish > ~/.config/fish/completions/gpuaas.fish
    """
    sys.stdout.write(_SCRIPTS[shell])
    return 0


def answer(words: Sequence[str]) -> int:
    """Print what can be typed instead of the last word, each with its meaning behind a tab."""
    for word, says in candidates(words or [""]):
        sys.stdout.write(f"{word}\t{says}\n")
    return 0


def candidates(words: Sequence[str]) -> list[tuple[str, str]]:
    """What can be typed instead of the last word."""
    # Bash makes a word of its own of the sign in `--output=json`.
    typed = "" if words[-1] == "=" else words[-1]
    before = [word for word in words[:-1] if word != "="]
    asked, rest = command_at(before)
    if asked.verbs and rest:
        return []
    name, sign, value = typed.partition("=")
    if typed.startswith("-") and sign:
        option = _option(asked, name)
        found = _values(option) if option is not None and option.takes_value else ()
        return [(f"{name}={one}", says) for one, says in found if one.startswith(value)]
    return [pair for pair in _next(asked, rest, typed) if _fits(pair[0], typed)]


def _next(asked: Command, rest: Sequence[str], typed: str) -> Iterable[tuple[str, str]]:
    waiting = _option(asked, rest[-1]) if rest else None
    if waiting is not None and waiting.takes_value:
        return _values(waiting)
    if typed.startswith("-"):
        options = [one for one in asked.options if not one.placed]
        return [(name, one.help) for one in (*options, _HELP) for name in one.names]
    if asked.verbs:
        return [(verb, command((*asked.words, verb)).says) for verb in asked.verbs]
    places = [one for one in asked.options if one.placed]
    here = _given(asked, rest)
    if here >= len(places) and not (places and places[-1].many):
        return ()
    place = places[min(here, len(places) - 1)]
    return _contexts() if asked.words[0] in {"context", "logout"} else _values(place)


def _fits(candidate: str, typed: str) -> bool:
    return candidate == _FILES or candidate.startswith(typed)


def _option(asked: Command, name: str) -> Option | None:
    return next((one for one in asked.options if not one.placed and name in one.names), None)


def _given(asked: Command, rest: Sequence[str]) -> int:
    """How many words by place are there already."""
    count, skips = 0, False
    for word in rest:
        option = _option(asked, word)
        count += not skips and not word.startswith("-")
        skips = option is not None and option.takes_value
    return count


def _values(option: Option) -> Iterable[tuple[str, str]]:
    if option.kind == "file":
        return [(_FILES, "")]
    if "--context" in option.names:
        return _contexts()
    return [(value, "") for value in option.values]


def _contexts() -> Iterable[tuple[str, str]]:
    config = import_module("gpuaas_cli.config")
    try:
        known = config.config_read(config.config_path()).contexts
    except config.ConfigError:
        return []  # a shell is no place for complaints; the next command says it
    return [(name, f"{one.who} at {one.url}") for name, one in known.items()]
