#!/bin/sh
# inside.sh WORLD [judge.py's arguments]: the inner half of bench.sh, in namespaces of its own.
set -eu

world=$1
shift
mkdir "$world/dev"
for device in null zero random urandom; do
    : > "$world/dev/$device"
done
while read -r _ place _; do
    mount -o remount,bind,ro "$place"
done < /proc/self/mounts
mount -t proc -o ro proc /proc
mount -t tmpfs none /sys
mount -t tmpfs none /tmp
for device in null zero random urandom; do
    mount --bind "/dev/$device" "$world/dev/$device"
    mount -o remount,bind,rw "$world/dev/$device"
done
mount --rbind "$world/dev" /dev
mount --rbind /home "$world/outer"
mount --bind "$world/home" /home
mount -o remount,bind,rw /home
cd /home/dev/work/llm-serve
exec env -i HOME=/home/dev USER=dev LOGNAME=dev LC_ALL=C.UTF-8 PATH="$world/bin" \
    "$world/bin/python3" "$world/judge.py" "$world" "$@"
