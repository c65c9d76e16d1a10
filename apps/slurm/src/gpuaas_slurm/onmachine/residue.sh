# Says what of a cluster is still on this machine: a kind, a tab, a thing. Changes nothing.
left() { printf 'left\t%s %s\n' "$1" "$2"; }
before() { [ -r "$HOME_FOLDER/$1.before" ] && grep -qx -- "$2" "$HOME_FOLDER/$1.before"; }

for name in slurmctld slurmd slurmdbd slurmstepd munged mariadbd; do
    case $name in
    munged) before packages munge && continue ;;
    mariadbd) before packages mariadb-server && continue ;;
    esac
    [ "${KEPT_PACKAGES:-}" = yes ] && case $name in munged | mariadbd) continue ;; esac
    for pid in $(pgrep -x "$name"); do
        left process "$name $pid"
    done
done
for unit in slurmctld slurmd slurmdbd; do
    state=$(systemctl show -P ActiveState "$unit")
    [ "$state" = inactive ] || left unit "$unit $state"
done
for name in $PACKAGES; do
    [ "${KEPT_PACKAGES:-}" = yes ] && continue
    before packages "$name" && continue
    status=$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null) || continue
    [ "$status" = not-installed ] || left package "$name $status"
done
for name in munge slurm mysql; do
    [ "${KEPT_PACKAGES:-}" = yes ] && continue
    before users "$name" || ! getent passwd "$name" >/dev/null || left user "$name"
    before groups "$name" || ! getent group "$name" >/dev/null || left group "$name"
done
[ ! -r "$HOME_FOLDER/people.ours" ] || while read -r name; do
    ! getent passwd "$name" >/dev/null || left user "$name"
done <"$HOME_FOLDER/people.ours"
for file in $FILES $OTHERS "$HOME_FOLDER"; do
    [ ! -e "$file" ] || left file "$file"
done
ss -Hltn 2>/dev/null | awk '{print $4}' | sed 's/.*://' | grep -xE '6817|6818|6819' | sort -u |
    while read -r port; do left port "$port"; done
printf 'end\tresidue\n'
