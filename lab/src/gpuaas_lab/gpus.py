"""Fake GPUs for a machine: device nodes and an `nvidia-smi` that answers. Lab only.

What a program finds is clearly marked as fake: the product name, the driver version and the
command's own help say so. The nodes carry a device number reserved for local experiments, so they
can never reach a real GPU of the host; opening one fails as it does without a driver.
"""

from __future__ import annotations

import shlex
from importlib import resources

from gpuaas_lab import inside
from gpuaas_lab.errors import LabError

MOST = 16

# $1: count. $2: a name for identities. Standard input is the script itself, so the program that
# plays nvidia-smi travels as $3.
_SCRIPT = """
unit=/etc/systemd/system/gpuaas-lab-fake-gpus.service
rm -f /dev/nvidia[0-9]* /dev/nvidiactl /dev/nvidia-uvm
if [ "$1" = 0 ]; then
  [ ! -e "$unit" ] || systemctl --quiet disable "$unit" 2>/dev/null || true
  rm -rf "$unit" /usr/bin/nvidia-smi /etc/gpuaas-lab-fake-gpus
  systemctl daemon-reload
  exit 0
fi
printf '%s %s\\n' "$1" "$2" > /etc/gpuaas-lab-fake-gpus
printf '%s' "$3" > /usr/bin/nvidia-smi
chmod 755 /usr/bin/nvidia-smi
cat > "$unit" <<'UNIT'
[Unit]
Description=Fake GPU device nodes of the GPUaaS lab
DefaultDependencies=no
Before=sysinit.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/bin/nvidia-smi --lab-make-nodes

[Install]
WantedBy=sysinit.target
UNIT
systemctl daemon-reload
systemctl --quiet enable gpuaas-lab-fake-gpus.service
systemctl restart gpuaas-lab-fake-gpus.service
"""


async def install(lab: str, machine: str, count: int) -> None:
    """Give the machine so many fake GPUs; 0 takes them away. They are there after a reboot."""
    if not 0 <= count <= MOST:
        raise LabError(f"a machine can have 0 to {MOST} fake GPUs, not {count}")
    program = resources.files("gpuaas_lab").joinpath("fake_nvidia_smi.py").read_text()
    identity = shlex.quote(f"{lab}/{machine}")
    await inside.script(lab, machine, _SCRIPT, str(count), identity, program)
