# Starts a service so that it reads what is configured now. A start ends when the service answers.
for folder in ${FOLDERS:-}; do
    install -d -o slurm -g slurm -m 0755 "$folder"
done
[ -e "/etc/systemd/system/multi-user.target.wants/$UNIT.service" ] ||
    systemctl enable --quiet "$UNIT"
if ! systemctl restart "$UNIT"; then
    systemctl show -p ActiveState,SubState,Result "$UNIT" | tr '\n' ' '
    echo
    journalctl --no-pager --output=cat --lines=15 --unit="$UNIT"
    exit 1
fi
