# Takes everything of the cluster off this machine: what was here before it stays.
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
exec 9>"$HOME_FOLDER/lock"
flock -w 300 9 || { echo "an installation is still at work here" >&2; exit 75; }

for unit in slurmd slurmctld slurmdbd; do
    [ "$(systemctl show -P LoadState "$unit")" = not-found ] || systemctl disable --now --quiet "$unit"
done
kept() { grep -qxs -- "$1" "$HOME_FOLDER/folders.before"; }
had() { [ ! -e "$HOME_FOLDER/$1.before" ] || grep -qx -- "$2" "$HOME_FOLDER/$1.before"; }
database_drop() { echo "DROP DATABASE IF EXISTS $DATABASE; DROP USER IF EXISTS slurm@localhost" | mariadb; }
# A server's files that were here before the server stay, without what we put into them.
if kept /var/lib/mysql && ! had packages mariadb-server && [ -e "$HOME_FOLDER/database.made" ]; then
    systemctl start mariadb
    database_drop
    rm "$HOME_FOLDER/database.made"
fi
for pair in mariadb:mariadb-server munge:munge; do
    unit=${pair%%:*}
    if ! had packages "${pair#*:}" && [ "$(systemctl show -P LoadState "$unit")" != not-found ]; then
        systemctl disable --now --quiet "$unit"
    fi
done

if [ -e "$HOME_FOLDER/people.ours" ]; then
    principals=$(cat /etc/ssh/sshd_config.d/*.conf /etc/ssh/sshd_config 2>/dev/null |
        awk 'tolower($1) == "authorizedprincipalsfile" {print $2; exit}')
    sort -u "$HOME_FOLDER/people.ours" | while read -r name; do
        case $principals in
        */%u) rm -f "${principals%/%u}/$name" ;;
        esac
        pkill -KILL -u "$name" || true
        # With what they kept here: the machine may be somebody else's next.
        ! getent passwd "$name" >/dev/null || userdel --force --remove "$name" 2>/dev/null || ! getent passwd "$name" >/dev/null
        ! getent group "$name" >/dev/null || groupdel "$name"
    done
fi

if [ -e "$HOME_FOLDER/packages.before" ]; then
    [ ! -e "$HOME_FOLDER/installing" ] || dpkg --configure -a || true
    dpkg-query -W -f '${db:Status-Status} ${Package}\n' | grep -v '^not-installed' |
        cut -d' ' -f2 | sort | comm -13 "$HOME_FOLDER/packages.before" - >"$HOME_FOLDER/packages.ours"
    if [ -s "$HOME_FOLDER/packages.ours" ]; then
        for link in $LINKS; do
            rm -f "${link%%:*}"
        done
        xargs -r dpkg --purge --force-unsafe-io <"$HOME_FOLDER/packages.ours"
    fi
fi
if had packages munge && [ -e "$HOME_FOLDER/munge.key.before" ]; then
    systemctl stop munge
    mv -f "$HOME_FOLDER/munge.key.before" /etc/munge/munge.key
    systemctl enable --now --quiet munge
fi
if had packages mariadb-server && [ -e "$HOME_FOLDER/database.made" ]; then
    systemctl enable --now --quiet mariadb
    database_drop
fi
if ! had packages mariadb-server; then
    rm -rf /run/mysqld
    for folder in $FOLDERS; do
        kept "$folder" || rm -rf "$folder"
    done
fi
had packages munge || rm -rf /etc/munge /var/lib/munge /var/log/munge /run/munge
rm -rf $FILES $OTHERS
if [ -e "$HOME_FOLDER/proc.before" ] && grep -q '^[^ ]* /proc proc [^ ]*hidepid=' /proc/mounts; then
    mount -o remount,hidepid=0 /proc
fi
if had packages mariadb-server && [ -d /run/mysqld ]; then
    chgrp root /run/mysqld
    chmod 0755 /run/mysqld
fi
rmdir /etc/systemd/system/slurmd.service.d /etc/systemd/system/slurmctld.service.d \
    /etc/systemd/system/slurmdbd.service.d /etc/systemd/system/mariadb.service.d /etc/slurm 2>/dev/null || true
systemctl daemon-reload
systemctl reset-failed 2>/dev/null || true
for name in slurm munge mysql; do
    had users "$name" || ! getent passwd "$name" >/dev/null || userdel "$name"
    had groups "$name" || ! getent group "$name" >/dev/null || groupdel "$name"
done
# With the lists of what was here before, which go last: without them nobody can tell what is ours.
seen=$(sh -c "$PROBE")
case $seen in *residue) ;; *) echo "the probe ended early: $seen" >&2; exit 1 ;; esac
left=$(echo "$seen" | sed -n 's/^left\t//p' | grep -vxF "file $HOME_FOLDER" || true)
[ -z "$left" ] || { echo "still here: $left" >&2; exit 1; }
rm -rf "$HOME_FOLDER"
