# Stops services, in the order given, and keeps them from starting again by themselves.
for unit in $UNITS_DOWN; do
    if [ "$(systemctl show -P LoadState "$unit")" != not-found ]; then
        [ "${KEEP_ENABLED:-}" = yes ] || systemctl disable --quiet "$unit"
        systemctl stop "$unit"
    fi
done
