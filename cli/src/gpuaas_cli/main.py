"""`gpuaas`: the command line. Commands are loaded when they are called, so starting is quick.

Exit codes: 0 ok, 1 client, 2 server, 3 auth, 4 not found, 5 conflict, 6 operation failed.
"""

import sys

from cyclopts import App

app = App(
    name="gpuaas",
    help="""Work with a GPUaaS platform.

    The platform is named by `--url` or GPUAAS_URL; who you are by GPUAAS_TOKEN (a personal
    token) or GPUAAS_KEY_FILE (a file with a service account's key).
    """,
)
app.command("gpuaas_cli.status:status", help="Show whether the platform is ready.")
app.command("gpuaas_cli.whoami:whoami", help="Show who you are and what you may do where.")
app.command("gpuaas_cli.api:api", help="Call any route of the API with your identity.")


def main() -> None:
    """Entry point of the command."""
    sys.exit(app())
