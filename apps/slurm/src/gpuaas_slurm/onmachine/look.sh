# Says what is on this machine: a word, a tab, a value, a line each. Changes nothing. SEES: which
# parts; the script before it left the others as they were.
say() { printf '%s\t%s\n' "$1" "$2"; }
sees() { case " $SEES " in *" $1 "*) ;; *) return 1 ;; esac; }

. /etc/os-release
say os "${ID:-unknown} ${VERSION_CODENAME:-unknown}"
read -r host </proc/sys/kernel/hostname
say hostname "$host"
say now "$(date +%s.%N)"
# Of a line each, and read by the shell itself: every program started counts on a small machine.
# What stands in a folder that somebody else made is not the app's word.
kept='record.json cluster.json snapshot.json offer restored previous.version'
[ -O "$HOME_FOLDER" ] && [ ! -L "$HOME_FOLDER" ] || kept=
for name in $kept; do
    [ -r "$HOME_FOLDER/$name" ] || continue
    read -r line <"$HOME_FOLDER/$name" || :
    say "${name%.*}" "$line"
done
! sees packages || dpkg-query -W -f 'package\t${db:Status-Status} ${Package} ${Version}\n' $PACKAGES 2>/dev/null
set --
for file in $FILES; do
    sees files && [ -e "$file" ] && set -- "$@" "$file"
done
[ $# -eq 0 ] || sha256sum -- "$@" | sed 's/^/digest\t/'
! sees files || [ ! -e "$HOME_FOLDER" ] || set -- "$@" "$HOME_FOLDER"
[ $# -eq 0 ] || stat -c 'mode	%a %U %G %Y %n' -- "$@"
# Other people's processes: hidden, visible, or why they cannot be hidden here.
processes=visible
while read -r _ place kind options _; do
    [ "$place $kind" = '/proc proc' ] || continue
    case ,$options, in
    *,hidepid=2,* | *,hidepid=invisible,* | *,hidepid=4,* | *,hidepid=ptraceable,*) processes=hidden ;;
    *) processes=visible ;;
    esac
done </proc/mounts
if [ "$processes" = visible ] && [ -r "$HOME_FOLDER/proc.refused" ]; then
    read -r processes <"$HOME_FOLDER/proc.refused" || :
    processes="refused $processes"
fi
say processes "$processes"
for file in $PROBED; do
    [ -e "$file" ] && say present "$file"
done
if sees people; then
    awk -F: '{print "user\t" $1 ":" $3 ":" $7}' /etc/passwd
    principals=$(cat /etc/ssh/sshd_config.d/*.conf /etc/ssh/sshd_config 2>/dev/null |
        awk 'tolower($1) == "authorizedprincipalsfile" {print $2; exit}')
    case $principals in
    */%u) awk '{n = FILENAME; sub(".*/", "", n); print "principal\t" n " " $0}' "${principals%/%u}"/* 2>/dev/null ;;
    esac
fi
! sees units || systemctl show --timestamp=unix \
    -p Id,LoadState,ActiveState,SubState,Result,MainPID,UnitFileState,NRestarts,InactiveExitTimestamp \
    $UNITS | sed 's/^/unit\t/'
say end look
