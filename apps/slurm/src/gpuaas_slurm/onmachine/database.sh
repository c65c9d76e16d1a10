# Starts the database with its settings and makes database and user (STATEMENTS on standard input).
systemctl is-enabled --quiet mariadb || systemctl enable --quiet mariadb
systemctl restart mariadb
mariadb
mkdir -p "$HOME_FOLDER"
: >"$HOME_FOLDER/database.made"
