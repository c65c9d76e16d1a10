# Says, on one line, what a service that is still starting does: what the database does for it, or
# its own last words.
busy="SELECT CONCAT('the database works on: ', REPLACE(LEFT(info, 100), '\n', ' '))
    FROM information_schema.processlist WHERE user = 'slurm' AND command = 'Query' LIMIT 1"
said=
[ "$UNIT" != slurmdbd ] || said=$(timeout 5 mariadb --batch --skip-column-names --execute="$busy" 2>/dev/null)
[ -n "$said" ] || said="it says: $(
    journalctl --no-pager --output=cat --lines=1 _SYSTEMD_UNIT="$UNIT.service"
)"
printf '%s\n' "$said"
