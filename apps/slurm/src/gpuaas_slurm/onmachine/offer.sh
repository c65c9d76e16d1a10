# Makes a bundle (ARCHIVE) ready for OPERATION; what is installed is not touched, and its own bundle
# is kept under another name as the way back.
cd "$HOME_FOLDER"
installed=$(dpkg-query -W -f '${Version}' slurm-client)
rm -f previous.tar previous.version
if [ -e installed.tar ]; then
    ln -f installed.tar previous.tar
    echo "$installed" >previous.version
fi
version=$(tar -xOf "$ARCHIVE" Packages |
    awk '/^Package: / {mine = $2 == "slurm-client"} mine && /^Version: / {print $2; exit}')
[ -n "$version" ] || { echo "the bundle holds no slurm-client" >&2; exit 1; }
if dpkg --compare-versions "$version" gt "$installed"; then
    relation=newer
elif dpkg --compare-versions "$version" eq "$installed"; then
    relation=same
else
    relation=older
fi
mv -f "$ARCHIVE" offer.tar
printf '%s %s %s\n' "$OPERATION" "$version" "$relation" >offer.new
mv -f offer.new offer
