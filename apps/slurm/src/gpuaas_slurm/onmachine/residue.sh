# Says what of a cluster is still on this machine: a kind, a tab, a thing. Changes nothing.
left() { printf 'left\t%s %s\n' "$1" "$2"; }
# What can be anybody's is the cluster's where a list says that it was not there before. The lists
# go last, once nothing of the cluster is left (clean.sh): without them it is somebody else's.
theirs() {
    [ "${KEPT_PACKAGES:-}" = yes ] || [ ! -r "$HOME_FOLDER/$1.before" ] ||
        grep -qx -- "$2" "$HOME_FOLDER/$1.before"
}

for name in slurmctld slurmd slurmdbd slurmstepd munged mariadbd; do
    case $name in
    munged) theirs packages munge && continue ;;
    mariadbd) theirs packages mariadb-server && continue ;;
    esac
    for pid in $(pgrep -x "$name"); do
        left process "$name $pid"
    done
done
for unit in slurmctld slurmd slurmdbd; do
    state=$(systemctl show -P ActiveState "$unit")
    [ "$state" = inactive ] || left unit "$unit $state"
done
for name in $PACKAGES; do
    theirs packages "$name" && continue
    status=$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null) || continue
    [ "$status" = not-installed ] || left package "$name $status"
done
for name in munge slurm mysql; do
    theirs users "$name" || ! getent passwd "$name" >/dev/null || left user "$name"
    theirs groups "$name" || ! getent group "$name" >/dev/null || left group "$name"
done
[ ! -r "$HOME_FOLDER/people.ours" ] || while read -r name; do
    ! getent passwd "$name" >/dev/null || left user "$name"
done <"$HOME_FOLDER/people.ours"
theirs packages munge || [ ! -e /etc/munge/munge.key ] || left file /etc/munge/munge.key
for file in $FILES $OTHERS "$HOME_FOLDER"; do
    [ ! -e "$file" ] && [ ! -L "$file" ] || left file "$file"
done
ss -Hltn 2>/dev/null | awk '{print $4}' | sed 's/.*://' | grep -xE '6817|6818|6819' | sort -u |
    while read -r port; do left port "$port"; done
printf 'end\tresidue\n'
