# Starts the database with its settings and makes database and user (STATEMENTS on standard input).
[ -e /etc/systemd/system/multi-user.target.wants/mariadb.service ] ||
    systemctl enable --quiet mariadb
# Started often in a short time, as by one attempt after the other, it would be refused.
systemctl reset-failed mariadb 2>/dev/null || true
if [ -e "$HOME_FOLDER/reload" ]; then
    # That systemd reads its units takes as long as the server needs to come up: both at once.
    systemctl restart --no-block mariadb
    tries=50
    until pidof -q mariadbd || [ "$tries" -eq 0 ]; do
        tries=$((tries - 1))
        sleep 0.02
    done
    systemctl daemon-reload
    rm -f "$HOME_FOLDER/reload"
    systemctl start mariadb
else
    systemctl restart mariadb
fi
mariadb
# The first start also brings the server's own tables up to date, behind the back of whoever started
# it: accounting is not let in before its user really gets at its database.
tries=100
until said=$(runuser -u slurm -- mariadb --user=slurm --execute='SELECT 1' "$DATABASE" 2>&1); do
    tries=$((tries - 1))
    [ "$tries" -gt 0 ] || { echo "slurm cannot use the database $DATABASE: $said"; exit 1; }
    sleep 0.1
done
mkdir -p "$HOME_FOLDER"
: >"$HOME_FOLDER/database.made"
