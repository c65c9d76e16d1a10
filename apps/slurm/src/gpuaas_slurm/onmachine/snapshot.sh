# Saves what going back needs: the scheduler's state, accounting's database, configuration and
# documents. The daemons stay down for what comes next; if saving fails they run again.
cd "$HOME_FOLDER"
again() {
    status=$?
    [ "$status" -eq 0 ] || { rm -rf snapshot.new; systemctl start slurmdbd slurmctld || true; }
}
trap again EXIT
umask 077
rm -rf snapshot.new
mkdir snapshot.new
systemctl stop slurmctld
systemctl stop slurmdbd
mariadb-dump --single-transaction --routines --triggers "$DATABASE" >snapshot.new/database.sql
tar -C / -czf snapshot.new/state.tar.gz "${STATE#/}"
for file in $FILES "$HOME_FOLDER/cluster.json" "$HOME_FOLDER/record.json"; do
    case $file in */munge.key) continue ;; esac
    [ ! -e "$file" ] || echo "${file#/}"
done >snapshot.new/files
tar -C / -czf snapshot.new/files.tar.gz -T snapshot.new/files
(cd snapshot.new && sha256sum database.sql state.tar.gz files.tar.gz >SHA256SUMS)
size=$(du -sk snapshot.new | cut -f1)
sync
rm -rf snapshot
mv snapshot.new snapshot
printf '{"operation_id":"%s","app_version":"%s","packages":"%s","generation":%s,"at":%s,"kib":%s}\n' \
    "$OPERATION" "$APP_VERSION" "$(cat previous.version)" "$GENERATION" "$(date +%s)" "$size" >snapshot.json.new
mv -f snapshot.json.new snapshot.json
