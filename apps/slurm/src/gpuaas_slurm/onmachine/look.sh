# Says what is on this machine: a word, a tab, a value, a line each. Changes nothing.
say() { printf '%s\t%s\n' "$1" "$2"; }

. /etc/os-release
say os "${ID:-unknown} ${VERSION_CODENAME:-unknown}"
read -r host </proc/sys/kernel/hostname
say hostname "$host"
say now "$(date +%s.%N)"
for name in record cluster snapshot; do
    [ -r "$HOME_FOLDER/$name.json" ] && say "$name" "$(cat "$HOME_FOLDER/$name.json")"
done
for name in offer restored previous.version; do
    [ -r "$HOME_FOLDER/$name" ] && say "${name%.version}" "$(cat "$HOME_FOLDER/$name")"
done
dpkg-query -W -f 'package\t${db:Status-Status} ${Package} ${Version}\n' $PACKAGES 2>/dev/null
for file in $FILES; do
    [ -e "$file" ] && printf '%s\0' "$file"
done | xargs -0 -r sh -c 'sha256sum -- "$@" | sed "s/^/digest\t/"; stat -c "mode	%a %U %G %Y %n" -- "$@"' sh
for file in $PROBED; do
    [ -e "$file" ] && say present "$file"
done
awk -F: '{print "user\t" $1 ":" $3 ":" $7}' /etc/passwd
principals=$(cat /etc/ssh/sshd_config.d/*.conf /etc/ssh/sshd_config 2>/dev/null |
    awk 'tolower($1) == "authorizedprincipalsfile" {print $2; exit}')
case $principals in
*/%u) awk '{n = FILENAME; sub(".*/", "", n); print "principal\t" n " " $0}' "${principals%/%u}"/* 2>/dev/null ;;
esac
systemctl show --timestamp=unix \
    -p Id,LoadState,ActiveState,SubState,Result,MainPID,UnitFileState,NRestarts,InactiveExitTimestamp \
    $UNITS | sed 's/^/unit\t/'
say end look
