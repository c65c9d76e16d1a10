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
    "programs keep the true time, because the kernel has one wall clock for the whole host."
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
# The library shares a semaphore and some memory among processes, and whoever made them removes them
# at its end. Where sshd forks for a connection without starting itself anew (Ubuntu's does), the
# fork takes itself for the maker, and its sandbox kills it for the removal. So sshd is given copies
# that nobody made: kept on disk, in place before it starts. They have names of their own: a file
# here would hide the general one of the same name.
lent=/etc/systemd/system/ssh.service.d/51-gpuaas-lab-skew-lent.conf
laid=/etc/tmpfiles.d/gpuaas-lab-skew.conf
kept=/var/lib/gpuaas-lab-skew
sed -i '/# gpuaas-lab skew$/d; /^LD_PRELOAD=.*faketime/d; /^FAKETIME/d' /etc/environment \
  2>/dev/null || true
rm -rf "$dropin" "$exempt" "$lent" "$laid" "$kept"
if [ "$1" != 0 ]; then
  library=$(ls /usr/lib/*/faketime/libfaketimeMT.so.1 2>/dev/null | head -n 1)
  [ -n "$library" ] || exit {_MISSING}
  mkdir -p "${{dropin%/*}}" "${{exempt%/*}}" "${{lent%/*}}" "$kept"
  settings="LD_PRELOAD=$library
FAKETIME=$1
FAKETIME_DONT_FAKE_MONOTONIC=1
FAKETIME_DISABLE_SHM=1
FAKETIME_SKIP_CMDS={_SKIPPED}
FAKETIME_DONT_RESET=1"
  {{ echo "[Service]"; echo "$settings" | sed 's/^/Environment=/'; }} > "$dropin"
  {{ echo "[Service]"; echo "UnsetEnvironment=LD_PRELOAD FAKETIME"; }} > "$exempt"
  if env $settings sh -c 'cd /dev/shm && cp "sem.faketime_sem_$$" "$0/semaphore" &&
      cp "faketime_shm_$$" "$0/memory"' "$kept" 2>/dev/null; then
    {{ echo "[Service]"
       echo 'Environment="FAKETIME_SHARED=/gpuaas_lab_skew /gpuaas_lab_skew"'; }} > "$lent"
    {{ echo "C /dev/shm/sem.gpuaas_lab_skew 0600 root root - $kept/semaphore"
       echo "C /dev/shm/gpuaas_lab_skew 0600 root root - $kept/memory"; }} > "$laid"
    systemd-tmpfiles --create "$laid"
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
