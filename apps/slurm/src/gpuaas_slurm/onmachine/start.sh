# Starts a service so that it reads what is configured now. A start ends when the service answers.
# VERB `start`: it is on its way already, and is waited for. NEEDS: a database whose work for it may
# take long; it is given time for as long as that works, and not longer than PATIENCE otherwise.
for folder in ${FOLDERS:-}; do
    install -d -o slurm -g slurm -m 0700 "$folder"
done
[ -e "/etc/systemd/system/multi-user.target.wants/$UNIT.service" ] ||
    systemctl enable --quiet "$UNIT"

if [ -e "$HOME_FOLDER/reload" ]; then
    systemctl daemon-reload
    rm -f "$HOME_FOLDER/reload"
fi

works_for_it() {
    busy="SELECT COUNT(*) FROM information_schema.processlist
        WHERE user = 'slurm' AND command = 'Query'"
    found=$(timeout 5 "$NEEDS" --batch --skip-column-names --execute="$busy" 2>/dev/null) &&
        [ "$found" != 0 ]
}

watch_over() {
    idle=0
    while [ "$idle" -lt "${PATIENCE:-90}" ]; do
        sleep 5
        if works_for_it; then idle=0; else idle=$((idle + 5)); fi
    done
    systemctl stop "$UNIT"
}

begin() {
    [ -n "${NEEDS:-}" ] || { systemctl "${VERB:-restart}" "$UNIT"; return; }
    watch_over </dev/null >/dev/null 2>&1 &
    watcher=$!
    status=0
    systemctl "${VERB:-restart}" "$UNIT" || status=$?
    kill "$watcher" 2>/dev/null || true
    return "$status"
}

# A daemon may find what it stands on a moment too early, end, and be fine when it is started again.
# One that fails for another reason does so every time; one that needs long is not asked twice.
tries=3
began=$(date +%s)
until begin; do
    if [ "$(systemctl show -P LoadState "$UNIT")" = masked ]; then
        echo "$UNIT is masked, somebody forbade it to start: systemctl unmask $UNIT"
        exit 1
    fi
    tries=$((tries - 1))
    took=$(($(date +%s) - began))
    if [ "$tries" -eq 0 ] || [ "$took" -gt 30 ]; then
        result=$(systemctl show -P Result "$UNIT")
        # Few lines of its journal: what systemctl said before them must not scroll away.
        journalctl --no-pager --output=cat --lines=8 --unit="$UNIT"
        echo "$UNIT does not run: $result"
        [ "$result" = timeout ] || [ "$took" -gt 30 ] || exit 1
        # It waits for something that went away meanwhile: the next attempt begins with that.
        echo "$UNIT did not answer in time; its last words: $(
            journalctl --no-pager --output=cat --lines=1 _SYSTEMD_UNIT="$UNIT.service"
        )"
        exit 75
    fi
    sleep 1
done
