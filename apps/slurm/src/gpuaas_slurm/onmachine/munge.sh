# Puts the key in place (standard input) and has munge read it; an old key is never left in use.
[ ! -e /run/munge ] || systemctl stop munge
umask 077
if [ -e /etc/munge/munge.key ] && [ ! -e "$HOME_FOLDER/munge.key.before" ]; then
    cp -p /etc/munge/munge.key "$HOME_FOLDER/munge.key.before"
fi
(umask 377 && cat >/etc/munge/munge.key.new)
chown munge:munge /etc/munge/munge.key.new
mv -f /etc/munge/munge.key.new /etc/munge/munge.key
[ -e /etc/systemd/system/multi-user.target.wants/munge.service ] ||
    systemctl enable --quiet munge
systemctl start munge
munge -n | unmunge >/dev/null
