# Starts the database with its settings, unless it runs with them (READS: their files), and makes
# database and user (STATEMENTS on standard input).
# A script of a controller that died may still be at work here: two would cancel each other's start.
exec 8>"$HOME_FOLDER/database.lock"
flock -w 170 8 || { echo "another start of the database is still at work" >&2; exit 75; }
[ -e /etc/systemd/system/multi-user.target.wants/mariadb.service ] ||
    systemctl enable --quiet mariadb
# Started often in a short time, as by one attempt after the other, it would be refused.
systemctl reset-failed mariadb 2>/dev/null || true

runs() {
    [ ! -e "$HOME_FOLDER/reload" ] || return 1
    systemctl --quiet is-active mariadb || return 1
    since=$(systemctl show --timestamp=unix --property=InactiveExitTimestamp --value mariadb)
    for file in $READS; do
        [ ! -e "$file" ] || [ "$(stat -c %Y -- "$file")" -le "${since#@}" ] || return 1
    done
}

begin() {
    [ -e "$HOME_FOLDER/reload" ] || { systemctl restart mariadb; return; }
    # That systemd reads its units takes as long as the server needs to come up: both at once.
    # It warns that the unit changed, and would end by that where nobody reads it any more.
    systemctl restart --no-block mariadb 2>/dev/null || return
    tries=50
    until pidof -q mariadbd || [ "$tries" -eq 0 ]; do
        tries=$((tries - 1))
        sleep 0.02
    done
    systemctl daemon-reload && rm -f "$HOME_FOLDER/reload" && systemctl start mariadb
}

# What it lacks for a moment on a busy machine it may have a second later.
left=3
until runs || begin; do
    if [ "$(systemctl show -P LoadState mariadb)" = masked ]; then
        echo "mariadb is masked, somebody forbade it to start: systemctl unmask mariadb"
        exit 1
    fi
    left=$((left - 1))
    if [ "$left" -eq 0 ]; then
        journalctl --no-pager --output=cat --lines=8 --unit=mariadb
        echo "mariadb does not run: $(systemctl show -P Result mariadb)"
        exit 1
    fi
    sleep 1
done
mariadb
# The first start also brings the server's own tables up to date, behind the back of whoever started
# it: accounting is not let in before its user really gets at its database.
tries=100
until said=$(runuser -u slurm -- mariadb --user=slurm --execute='SELECT 1' "$DATABASE" 2>&1); do
    tries=$((tries - 1))
    [ "$tries" -gt 0 ] || { echo "slurm cannot use the database $DATABASE: $said"; exit 1; }
    sleep 0.1
done
: >"$HOME_FOLDER/database.made"
