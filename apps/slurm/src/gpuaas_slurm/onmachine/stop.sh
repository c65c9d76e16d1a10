# Keeps services from starting by themselves, and stops them in the order given.
present=
for unit in $UNITS_DOWN; do
    [ "$(systemctl show -P LoadState "$unit")" = not-found ] || present="$present $unit"
done
if [ -n "$present" ]; then
    systemctl disable --quiet $present
    for unit in $present; do
        systemctl stop "$unit"
    done
fi
