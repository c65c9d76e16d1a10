# Has systemd read its units anew after files were put in place, and takes away those not wanted.
# LATER: whoever starts something next does it (`reload`, a file of ours, says so until then).
for file in $UNWANTED; do
    rm -f "$file"
done
if [ -n "${LATER:-}" ]; then
    : >"$HOME_FOLDER/reload"
else
    systemctl daemon-reload
fi

# Other people's processes are hidden now and after every boot. Where the kernel or the container
# does not allow it, its words are kept (`proc.refused`) and the cluster goes on without.
ln -sf "$PROCESSES" "$PROCESSES_WANTED"
hidden() { grep -qE '^[^ ]+ /proc proc [^ ]*hidepid=(2|4|invisible|ptraceable)' /proc/mounts; }
if ! hidden; then
    # What is hidden already was the operator's doing and stays so when the cluster is gone.
    : >"$HOME_FOLDER/proc.before"
    if refused=$(mount -o remount,hidepid=2 /proc 2>&1) && hidden; then
        rm -f "$HOME_FOLDER/proc.refused"
    else
        printf '%s\n' "${refused:-the kernel took it and did not do it}" | head -n 1 >"$HOME_FOLDER/proc.refused"
    fi
fi
