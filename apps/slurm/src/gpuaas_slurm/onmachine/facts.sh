# Says what this machine is made of: a word, a tab, a value, a line each. Changes nothing.
say() { printf '%s\t%s\n' "$1" "$2"; }

say arch "$(dpkg --print-architecture 2>/dev/null || uname -m)"
say root "$(id -u)"
[ -d /run/systemd/system ] && say systemd yes
say memory "$(awk '/^MemTotal:/ {print $2}' /proc/meminfo)"
say disk "$(df -Pk /var | awk 'NR == 2 {print $4}')"
lscpu -p=CPU,CORE,SOCKET | grep -v '^#' | sed 's/^/cpu\t/'
awk '$3 == "cgroup" || $3 == "cgroup2" {print "cgroup\t" $3 " " $2 " " $4}' /proc/mounts
[ -r /sys/fs/cgroup/cgroup.controllers ] && say controllers "$(cat /sys/fs/cgroup/cgroup.controllers)"
getent hosts "$(cat /proc/sys/kernel/hostname)" | sed 's/^/resolves\t/'
ip -o addr show scope global | awk '{print "address\t" $4}'
ss -Hltnp 2>/dev/null | awk '{print "port\t" $4 " " $6}'
for file in /dev/nvidia[0-9]*; do
    [ -e "$file" ] && say gpufile "$file"
done
if [ -e /dev/nvidia0 ] || [ -d /proc/driver/nvidia ]; then
    nvidia-smi --query-gpu=index,name,pci.bus_id --format=csv,noheader 2>&1 | sed 's/^/gpu\t/'
    for file in /proc/driver/nvidia/gpus/*/information; do
        [ -r "$file" ] && say minor "$(basename "$(dirname "$file")") $(awk '/Device Minor/ {print $3}' "$file")"
    done
fi
for file in /dev/kfd; do
    [ -e "$file" ] && say amd "$file"
done
for peer in $PEERS; do
    { timeout 3 bash -c "exec 3<>/dev/tcp/$peer/22" 2>/dev/null && say reaches "$peer"; } &
done
wait
say end facts
