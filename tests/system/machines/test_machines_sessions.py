"""Sessions on real machines: scripts, files, units, and what a machine itself remembers of them."""

import pytest

from gpuaas_sdk import Machines
from tools.ground import Ground

pytestmark = pytest.mark.system


async def test_a_script_runs_as_root_with_its_environment_and_input(
    ground: Ground, machines: Machines
) -> None:
    machine = await machines.open(ground.allocation("n1"))
    ran = await machine.run(
        'id -u; echo "$GREETING"; cat; echo "$GPUAAS_CORRELATION_ID" >&2',
        env={"GREETING": 'it\'s "me"\n$HOME'},
        input=b"from outside",
    )
    assert ran.stdout == '0\nit\'s "me"\n$HOME\nfrom outside'
    assert ran.stderr == "cor_sessions\n"
    assert (ran.status, ran.cut) == (0, False)
