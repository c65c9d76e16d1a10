# Installs packages and starts none of their daemons. From a folder that apt takes as a repository
# (REPOSITORY), from an archive of one (ARCHIVE), or from the machine's own sources (neither).
umask 022
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
exec 9>"$HOME_FOLDER/lock"
# A script of a controller that died may still be at work here: it is let end.
flock -w 300 9 || { echo "another installation is still at work" >&2; exit 75; }

remember() { [ -e "$HOME_FOLDER/$1.before" ] || { sort >"$HOME_FOLDER/$1.new"; mv "$HOME_FOLDER/$1.new" "$HOME_FOLDER/$1.before"; }; }
# First of all: once packages are known to be remembered, these may be ours.
[ -e "$HOME_FOLDER/packages.before" ] ||
    find $FOLDERS -maxdepth 0 2>/dev/null | remember folders
dpkg-query -W -f '${db:Status-Status} ${Package}\n' | sed -n 's/^installed //p' | remember packages
cut -d: -f1 /etc/passwd | remember users
cut -d: -f1 /etc/group | remember groups

if [ -e "$HOME_FOLDER/installing" ]; then
    dpkg --configure -a
fi
: >"$HOME_FOLDER/installing"

policy=/usr/sbin/policy-rc.d
if [ -e "$policy" ] && ! grep -q gpuaas-slurm "$policy"; then
    mv "$policy" "$policy.before-gpuaas"
fi
restore() { rm -f "$policy"; [ ! -e "$policy.before-gpuaas" ] || mv "$policy.before-gpuaas" "$policy"; }
trap restore EXIT
printf '#!/bin/sh\n# gpuaas-slurm: nothing starts before it is configured\nexit 101\n' >"$policy"
chmod 755 "$policy"

set -- -qq -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=120 -o Dpkg::Options::=--force-unsafe-io \
    -o Dpkg::Options::=--force-confold
folder=
if [ -n "${ARCHIVE:-}" ]; then
    folder=$HOME_FOLDER/repository
    rm -rf "$folder"
    mkdir -p "$folder"
    tar -xf "$ARCHIVE" -C "$folder"
elif [ -n "${REPOSITORY:-}" ]; then
    folder=$REPOSITORY
fi
if [ -n "$folder" ]; then
    mkdir -p "$HOME_FOLDER/apt/lists/partial" "$HOME_FOLDER/apt/archives/partial"
    echo "deb [trusted=yes] file:$folder ./" >"$HOME_FOLDER/apt/sources.list"
    set -- "$@" -o "Dir::Etc::sourcelist=$HOME_FOLDER/apt/sources.list" -o Dir::Etc::sourceparts=- \
        -o "Dir::State::lists=$HOME_FOLDER/apt/lists" -o "Dir::Cache=$HOME_FOLDER/apt" \
        -o APT::Sandbox::User=root
fi
if [ -n "${EXACT:-}" ]; then
    # These very versions, of whatever is installed here: dependencies go along, also back.
    set -- "$@" --allow-downgrades
    here=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' | sed -n 's/^installed //p')
    NAMES=$(awk '/^Package: / {name = $2} /^Version: / {print name, $2}' "$folder/Packages" |
        while read -r name version; do
            ! echo "$here" | grep -qx -- "$name" || echo "$name=$version"
        done)
fi
apt-get "$@" update
apt-get "$@" -y --no-install-recommends install $NAMES
for link in $LINKS; do
    ln -sfn "${link#*:}" "${link%%:*}"
done
# Kept: the way back from a later upgrade leads through the packages of today.
[ -z "${ARCHIVE:-}" ] || mv -f "$ARCHIVE" "$HOME_FOLDER/installed.tar"
rm -rf "$HOME_FOLDER/apt" "$HOME_FOLDER/repository" "$HOME_FOLDER/installing"
