# Has systemd read its units anew after files were put in place, and takes away those not wanted.
for file in $UNWANTED; do
    rm -f "$file"
done
systemctl daemon-reload
