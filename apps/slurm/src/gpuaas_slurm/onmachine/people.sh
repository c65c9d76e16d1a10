# Brings this machine's people up to date. Standard input: `make NAME UID PRINCIPAL` (`-`: no login
# here) and `leave NAME`, a line each. CLOSE and ACCOUNT are the scheduler's commands, made by the
# app. Who leaves is locked out first, and has a shell until accounting is closed; who comes has a user here before accounting hears of them, since
# the controller looks the number up at that moment, and is let in only when accounting knows them.
principals=$(cat /etc/ssh/sshd_config.d/*.conf /etc/ssh/sshd_config 2>/dev/null |
    awk 'tolower($1) == "authorizedprincipalsfile" {print $2; exit}')
case $principals in
*/%u) folder=${principals%/%u} ;;
*) folder= ;;
esac
wanted=$(cat)

leavers=$(echo "$wanted" | sed -n 's/^leave //p')
for name in $leavers; do
    [ -z "$folder" ] || rm -f "$folder/$name"
    # Sessions end; what their jobs run does not hang on them.
    pkill -KILL -u "$name" -x 'sshd(-session)?' || true
done
eval "${CLOSE:-}"
for name in $leavers; do
    usermod --lock --expiredate 1 --shell /usr/sbin/nologin "$name"
done
echo "$wanted" | sed -n 's/^make //p' | while read -r name uid principal; do
    if ! getent passwd "$name" >/dev/null; then
        getent group "$name" >/dev/null || groupadd --gid "$uid" "$name"
        useradd --uid "$uid" --gid "$name" --create-home --key HOME_MODE=0700 \
            --shell /bin/bash --password '*' "$name"
        echo "$name" >>"$HOME_FOLDER/people.ours"
    else
        usermod --expiredate '' --shell /bin/bash --password '*' "$name"
    fi
done
eval "${ACCOUNT:-}"
echo "$wanted" | sed -n 's/^make //p' | while read -r name uid principal; do
    [ "$principal" != - ] || continue
    [ -n "$folder" ] || { echo "sshd has no AuthorizedPrincipalsFile ending in /%u: nobody can log in as $name" >&2; exit 1; }
    mkdir -p "$folder"
    printf '%s\n' "$principal" >"$folder/.$name"
    chmod 644 "$folder/.$name"
    mv -f "$folder/.$name" "$folder/$name"
done
