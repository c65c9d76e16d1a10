# Starts the database with its settings and makes database and user (STATEMENTS on standard input).
[ -e /etc/systemd/system/multi-user.target.wants/mariadb.service ] ||
    systemctl enable --quiet mariadb
systemctl restart mariadb
mariadb
mkdir -p "$HOME_FOLDER"
: >"$HOME_FOLDER/database.made"
