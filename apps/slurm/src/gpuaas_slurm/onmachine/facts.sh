# Says what this machine is made of: a word, a tab, a value, a line each. Changes nothing.
say() { printf '%s\t%s\n' "$1" "$2"; }

say arch "$(dpkg --print-architecture 2>/dev/null || uname -m)"
say root "$(id -u)"
[ -d /run/systemd/system ] && say systemd yes
while read -r key value _; do
    [ "$key" != MemTotal: ] || { say memory "$value"; break; }
done </proc/meminfo
say disk "$(df -Pk /var | awk 'NR == 2 {print $4}')"
lscpu -p=CPU,CORE,SOCKET | sed -n '/^#/!s/^/cpu\t/p'
while read -r _ place kind options _; do
    case $kind in cgroup | cgroup2) say cgroup "$kind $place $options" ;; esac
done </proc/mounts
if [ -r /sys/fs/cgroup/cgroup.controllers ]; then
    read -r controllers </sys/fs/cgroup/cgroup.controllers || :
    say controllers "$controllers"
fi
read -r host </proc/sys/kernel/hostname
resolved=$(getent hosts "$host") && say resolves "$resolved"
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
