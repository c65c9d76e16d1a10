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
