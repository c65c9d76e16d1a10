"""`gpuaas completion`: the completion of a shell, made from every command there is."""

import sys
from typing import Literal

from gpuaas_cli.main import make_app


def completion(shell: Literal["bash", "zsh", "fish"]) -> int:
    """Print the completion of a shell.

    Examples
    --------
    $ gpuaas completion bash > ~/.local/share/bash-completion/completions/gpuaas
    $ gpuaas completion fish > ~/.config/fish/completions/gpuaas.fish
    """
    app = make_app((), whole=True)
    sys.stdout.write(app.generate_completion(prog_name="gpuaas", shell=shell))
    return 0
