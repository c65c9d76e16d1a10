# Makes the app's folder, root's alone: its locks and state are out of every user's reach. A link, or
# a folder that others own or may write to, is not ours and is not trusted: it is removed. Nobody
# else can put it back, since the folder around it is root's.
if [ -L "$HOME_FOLDER" ]; then
    rm -f -- "$HOME_FOLDER"
elif [ -e "$HOME_FOLDER" ]; then
    case $(stat -c '%a' -- "$HOME_FOLDER") in
    *[0145][0145]) [ -d "$HOME_FOLDER" ] && [ -O "$HOME_FOLDER" ] || rm -rf -- "$HOME_FOLDER" ;;
    *) rm -rf -- "$HOME_FOLDER" ;;
    esac
fi
# A script beside this one may make it at the same moment.
[ -d "$HOME_FOLDER" ] || mkdir -m 0700 -- "$HOME_FOLDER" 2>/dev/null || :
chmod 0700 -- "$HOME_FOLDER"
