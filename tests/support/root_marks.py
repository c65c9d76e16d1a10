"""What a root of a machine leaves behind: some two hundred places that survive a new tenant.

Every file holds `MARK`, every name holds `NAME`, and files that were there already get a line with
the mark, so that one search finds whatever is left.
"""

from typing import Final

NAME: Final = "mallory"
MARK: Final = "mallory-was-here"
_FOLDERS: Final = (
    "/etc", "/etc/apt/apt.conf.d", "/etc/apt/sources.list.d", "/etc/apt/trusted.gpg.d",
    "/etc/bash_completion.d", "/etc/binfmt.d", "/etc/ca-certificates/update.d", "/etc/cron.d",
    "/etc/cron.daily", "/etc/cron.hourly", "/etc/cron.monthly", "/etc/cron.weekly",
    "/etc/dbus-1/system.d", "/etc/default", "/etc/depmod.d", "/etc/dhcp/dhclient-exit-hooks.d",
    "/etc/dpkg/dpkg.cfg.d", "/etc/grub.d", "/etc/init.d", "/etc/initramfs-tools/hooks",
    "/etc/initramfs-tools/scripts/init-top", "/etc/kernel/postinst.d", "/etc/ld.so.conf.d",
    "/etc/logrotate.d", "/etc/modprobe.d", "/etc/modules-load.d", "/etc/network/if-up.d",
    "/etc/networkd-dispatcher/routable.d", "/etc/pam.d", "/etc/polkit-1/rules.d", "/etc/profile.d",
    "/etc/rc0.d", "/etc/rsyslog.d", "/etc/security/limits.d", "/etc/skel", "/etc/ssh",
    "/etc/ssh/sshd_config.d", "/etc/sudoers.d", "/etc/sysctl.d", "/etc/systemd/network",
    "/etc/systemd/system", "/etc/systemd/system-generators", "/etc/systemd/system.conf.d",
    "/etc/systemd/system/multi-user.target.wants", "/etc/systemd/user", "/etc/tmpfiles.d",
    "/etc/udev/rules.d", "/etc/update-motd.d", "/etc/xdg/autostart", "/boot", "/home", "/media",
    "/mnt", "/opt", "/root", "/root/.config/systemd/user", "/root/.ssh", "/srv", "/usr/bin",
    "/usr/lib/modules-load.d", "/usr/lib/python3/dist-packages", "/usr/lib/systemd/system",
    "/usr/lib/systemd/system-sleep", "/usr/lib/udev/rules.d", "/usr/local/bin", "/usr/local/lib",
    "/usr/local/sbin", "/usr/sbin", "/usr/share/dbus-1/system-services", "/var/backups",
    "/var/cache", "/var/lib", "/var/lib/systemd/linger", "/var/local", "/var/mail", "/var/opt",
    "/var/spool/cron/crontabs", "/var/tmp", "/var/www",  # noqa: S108 - a place like any other
    "/usr/lib/x86_64-linux-gnu/security",
)  # fmt: skip
_ENDINGS: Final = ("", ".conf")
_KNOWN: Final = (
    "/etc/bash.bashrc", "/etc/crontab", "/etc/environment", "/etc/fstab", "/etc/group",
    "/etc/hosts", "/etc/modules", "/etc/nsswitch.conf", "/etc/pam.d/common-auth",
    "/etc/pam.d/common-session", "/etc/pam.d/login", "/etc/pam.d/sshd", "/etc/passwd",
    "/etc/profile", "/etc/rc.local", "/etc/resolv.conf", "/etc/security/access.conf",
    "/etc/security/pam_env.conf", "/etc/shadow", "/etc/ssh/ssh_config", "/etc/ssh/sshd_config",
    "/etc/subuid", "/etc/sudoers", "/etc/sysctl.conf", "/etc/systemd/journald.conf",
    "/etc/systemd/logind.conf", "/etc/systemd/system.conf", "/root/.bash_logout", "/root/.bashrc",
    "/root/.profile", "/root/.ssh/authorized_keys", "/root/.ssh/environment", "/root/.ssh/rc",
)  # fmt: skip
_TAKES_NO_COMMENT: Final = {"/etc/passwd", "/etc/group", "/etc/shadow", "/etc/subuid"}
PATHS: Final = tuple(f"{folder}/{NAME}{end}" for folder in _FOLDERS for end in _ENDINGS)
APPENDED: Final = tuple(path for path in _KNOWN if path not in _TAKES_NO_COMMENT)


def script() -> str:
    """What root runs to leave its marks; the machine goes on working."""
    folders = " ".join(_FOLDERS)
    files = " ".join(PATHS)
    appended = " ".join(APPENDED)
    return f"""
mkdir -p {folders}
for path in {files}; do echo '# {MARK}' >"$path"; done
for path in {appended}; do echo '# {MARK}' >>"$path"; done
useradd -m -s /bin/bash {NAME}
mkdir -p /home/{NAME}/.ssh
echo 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGmtaG8VbnJRA2AQKCdmwG5Ilde0bYkSW9xdCChEXkrf {MARK}' \
    | tee -a /root/.ssh/authorized_keys >/home/{NAME}/.ssh/authorized_keys
printf '%s\\n' '* * * * * root /bin/true # {MARK}' >/etc/cron.d/{NAME}
printf '%s\\n' '[Service]' 'ExecStart=/bin/sleep infinity' '# {MARK}' \
    >/etc/systemd/system/{NAME}.service
systemctl daemon-reload
systemctl start {NAME}.service
setsid --fork sh -c 'exec -a {NAME}-process sleep 1000000' >/dev/null 2>&1 </dev/null || true
"""


def search() -> str:
    """What finds any mark; it prints nothing on a machine that has none."""
    skipped = " -o ".join(f"-path {path}" for path in ("/proc", "/sys", "/dev", "/run"))
    return f"""
find / \\( {skipped} \\) -prune -o -name '*[m]allory*' -print
grep -rIl --exclude-dir=proc --exclude-dir=sys --exclude-dir=dev --exclude-dir=run '[m]allory-was' /
getent passwd {NAME}
ps -eo args | grep '[m]allory'
true
"""
