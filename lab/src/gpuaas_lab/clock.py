"""A wrong wall clock on one machine, as far as that can honestly be had.

Linux has one CLOCK_REALTIME for the whole host: time namespaces shift only the monotonic and boot
clocks. So the lab shifts what programs see: libfaketime is preloaded into every service of the
machine and every login, and the running services are restarted. Process 1, systemd's own services
and tools, setuid programs (sudo) and statically linked ones keep the true time. Monotonic clocks
are never touched.
"""

from __future__ import annotations

from gpuaas_lab import inside
from gpuaas_lab.errors import CommandFailed, LabError, NotSupported

LIMITS = (
    "Seen by services and logins; process 1, systemd's own services and tools, setuid and static "
    "programs (on Ubuntu sshd too) keep the true time, because the kernel has one wall clock for "
    "the whole host."
)
_MOST = 10 * 365 * 86400
_MISSING = 44
# systemd's own tools wait on absolute timers, which a shifted clock never reaches.
_SKIPPED = (
    "systemctl,systemd-run,journalctl,loginctl,networkctl,busctl,hostnamectl,timedatectl,"
    "systemd-analyze,systemd-tmpfiles,systemd-sysusers"
)

# $1: seconds with a sign, or 0.
_SCRIPT = f"""
dropin=/etc/systemd/system/service.d/50-gpuaas-lab-skew.conf
exempt=/etc/systemd/system/systemd-.service.d/60-gpuaas-lab-true-time.conf
# The library removes what it shared when a process ends; sshd's sandbox kills its child for that
# on Ubuntu. Debian's lives with it, and with this setting it would see the true time.
sandboxed=/etc/systemd/system/ssh.service.d/50-gpuaas-lab-skew.conf
sed -i '/# gpuaas-lab skew$/d; /^LD_PRELOAD=.*faketime/d; /^FAKETIME/d' /etc/environment \
  2>/dev/null || true
rm -f "$dropin" "$exempt" "$sandboxed"
if [ "$1" != 0 ]; then
  library=$(ls /usr/lib/*/faketime/libfaketimeMT.so.1 2>/dev/null | head -n 1)
  [ -n "$library" ] || exit {_MISSING}
  mkdir -p "${{dropin%/*}}" "${{exempt%/*}}" "${{sandboxed%/*}}"
  settings="LD_PRELOAD=$library
FAKETIME=$1
FAKETIME_DONT_FAKE_MONOTONIC=1
FAKETIME_DISABLE_SHM=1
FAKETIME_SKIP_CMDS={_SKIPPED}
FAKETIME_DONT_RESET=1"
  {{ echo "[Service]"; echo "$settings" | sed 's/^/Environment=/'; }} > "$dropin"
  {{ echo "[Service]"; echo "UnsetEnvironment=LD_PRELOAD FAKETIME"; }} > "$exempt"
  if grep -q '^ID=ubuntu' /etc/os-release; then
    {{ echo "[Service]"; echo "Environment=FAKETIME_FLSHM=1"; }} > "$sandboxed"
  fi
  {{ echo "# gpuaas-lab skew"; echo "$settings"; }} >> /etc/environment
fi
systemctl daemon-reload
systemctl list-units --plain --no-legend --type=service --state=running |
  awk '$1 !~ /^(systemd-|dbus|user@|init)/ {{ print $1 }}' | xargs -r systemctl try-restart
"""


async def skew(lab: str, machine: str, seconds: int) -> None:
    """Shift the machine's wall clock by so many seconds; 0 sets it right again."""
    if abs(seconds) > _MOST:
        raise LabError(f"a skew of {seconds} s is beyond ten years")
    try:
        await inside.script(lab, machine, _SCRIPT, f"{seconds:+d}" if seconds else "0")
    except CommandFailed as error:
        if f"ended with {_MISSING}:" not in error.message:
            raise
        raise NotSupported(
            "the kernel has no wall clock per machine, and libfaketime is not in this image",
            "rebuild the image: gpuaas-lab image --rebuild",
        ) from error
