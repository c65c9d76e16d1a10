# Starts a service so that it reads what is configured now. A start ends when the service answers.
for folder in ${FOLDERS:-}; do
    install -d -o slurm -g slurm -m 0755 "$folder"
done
[ -e "/etc/systemd/system/multi-user.target.wants/$UNIT.service" ] ||
    systemctl enable --quiet "$UNIT"
# A daemon may find what it stands on a moment too early, end, and be fine when it is started again.
# One that fails for another reason does so every time; one that needs long is not asked twice.
tries=3
began=$(date +%s)
until systemctl restart "$UNIT"; do
    tries=$((tries - 1))
    if [ "$tries" -eq 0 ] || [ $(($(date +%s) - began)) -gt 30 ]; then
        result=$(systemctl show -P Result "$UNIT")
        echo "$UNIT does not run: $result"
        journalctl --no-pager --output=cat --lines=15 --unit="$UNIT"
        [ "$result" = timeout ] || exit 1
        # It waits for something that went away meanwhile: the next attempt begins with that.
        echo "$UNIT did not answer in time; its last words: $(
            journalctl --no-pager --output=cat --lines=1 _SYSTEMD_UNIT="$UNIT.service"
        )"
        exit 75
    fi
    sleep 1
done
