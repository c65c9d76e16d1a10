# Starts a service so that it reads what is configured now. A start ends when the service answers.
for folder in ${FOLDERS:-}; do
    install -d -o slurm -g slurm -m 0755 "$folder"
done
systemctl is-enabled --quiet "$UNIT" || systemctl enable --quiet "$UNIT"
systemctl reset-failed "$UNIT" 2>/dev/null || true
if ! systemctl restart "$UNIT"; then
    systemctl show -p ActiveState,SubState,Result "$UNIT" | tr '\n' ' '
    echo
    journalctl --no-pager --output=cat --lines=15 --unit="$UNIT"
    exit 1
fi
