"""Writes docs/rbac.md: every permission key, and which built-in role holds it.

`python -m tools.rbac` writes the file; a test compares it with what would be written. It knows the
contract's tables and nothing else.
"""

from pathlib import Path

from gpuaas_contract.permission_texts import PERMISSION_TEXTS, ROLE_TEXTS
from gpuaas_contract.permissions import ROLES, TENANT_ONLY, Permission

FILE = Path(__file__).parent.parent / "docs" / "rbac.md"

_INTRODUCTION = """# Roles and permissions

Made by `make docs` from `gpuaas_contract`. Handlers ask for permission keys; a role is a name for
a bundle of them, held at the platform, a tenant or a project, and everywhere below. Tenants make
roles of their own (`gpuaas role create`). Nobody gives what they do not hold there themselves.
`gpuaas authorization explain` says why somebody may or may not do something.
"""
_TENANT_ONLY = (
    "Keys marked with * are not carried into tenants by a binding at the platform: a platform"
    " administrator breaks the glass to use them there, with a reason, audited."
)


def document() -> str:
    """The whole page."""
    roles = [f"| `{role}` | {ROLE_TEXTS[role]} | {len(keys)} |" for role, keys in ROLES.items()]
    names = [role.replace("_", " ") for role in ROLES]
    lines = [
        _INTRODUCTION,
        "## Built-in roles",
        "",
        "| role | for | keys |",
        "|---|---|---|",
        *roles,
        "",
        "## Permission keys",
        "",
        _TENANT_ONLY,
    ]
    for room in dict.fromkeys(key.partition(".")[0] for key in Permission):
        lines += ["", f"### {room}", "", f"| key | allows | {' | '.join(names)} |"]
        lines += ["|---" * (2 + len(names)) + "|"]
        lines += [_row(key) for key in Permission if key.partition(".")[0] == room]
    return "\n".join([*lines, ""])


def _row(key: Permission) -> str:
    mark = "*" if key in TENANT_ONLY else ""
    held = ["●" if key in keys else "" for keys in ROLES.values()]
    return f"| `{key}`{mark} | {PERMISSION_TEXTS[key]} | {' | '.join(held)} |"


if __name__ == "__main__":
    FILE.write_text(document())
