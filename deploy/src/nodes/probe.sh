# Prints facts of one node as key=value lines. POSIX sh; needs no tool but cat, ls, find, cksum, awk,
# sed, grep and uname. ROOT is where the node's own root is, empty where that is /. DEEP=yes reads the
# model's files and pings too, which takes seconds.
one() { cat "$2" 2>/dev/null | head -n 1 | sed "s/^/$1=/"; }
# A program of the node itself, which knows more than the container's.
host() { if [ -n "$ROOT" ]; then chroot "$ROOT" "$@"; else "$@"; fi; }
# Whether a process of such a name, or a service of systemd, runs. A container that sees only its own
# processes still sees the node's services where it is privileged.
runs() {
  if cat /proc/[0-9]*/comm 2>/dev/null | grep -qxE "$2"; then echo "$1=yes"; return; fi
  if ls "$ROOT/sys/fs/cgroup/system.slice" 2>/dev/null | grep -qE "^($2)\.service\$"; then echo "$1=yes"; return; fi
  # A display server's socket is seen from each network namespace that shares the node's.
  if [ "$1" = desktop ] && grep -qE '/tmp/\.X11-unix/X|/wayland-[0-9]' /proc/net/unix 2>/dev/null; then echo "$1=yes"; return; fi
  echo "$1=no"
}
echo "kernel=$(uname -r)"
one mtu "$ROOT/sys/class/net/$IF/mtu"
one speed "$ROOT/sys/class/net/$IF/speed"
one state "$ROOT/sys/class/net/$IF/operstate"
for hca in $HCAS; do
  device=${hca%%:*}
  port=${hca#*:}
  [ "$port" = "$hca" ] && port=1
  at="$ROOT/sys/class/infiniband/$device"
  one "$device.firmware" "$at/fw_ver"
  one "$device.rate" "$at/ports/$port/rate"
  one "$device.link" "$at/ports/$port/state"
  for net in "$at"/device/net/*; do one "$device.mtu" "$net/mtu"; done
  { host ibv_devinfo -d "$device" -i "$port" 2>/dev/null || ibv_devinfo -d "$device" -i "$port" 2>/dev/null; } |
    sed -n "s/.*active_mtu:[^0-9]*\([0-9][0-9]*\).*/$device.active_mtu=\1/p" | head -n 1
  for gid in "$at/ports/$port/gids/"*; do
    index=${gid##*/}
    value=$(cat "$gid" 2>/dev/null)
    kind=$(cat "$at/ports/$port/gid_attrs/types/$index" 2>/dev/null)
    case "$value" in 0000:0000:0000:0000:0000:0000:0000:0000 | "") ;; *) [ -n "$kind" ] && echo "gid=$device $index $kind $value" ;; esac
  done
done
grep -E '^(MemTotal|MemAvailable|SwapTotal|SwapFree):' /proc/meminfo 2>/dev/null | awk '{ sub(":", "", $1); print $1 "=" $2 }'
awk '/^full/ { sub("avg10=", "", $2); print "pressure=" $2 }' /proc/pressure/memory 2>/dev/null
grep -oE '[0-9]+\.[0-9]+(\.[0-9]+)?' /proc/driver/nvidia/version 2>/dev/null | head -n 1 | sed 's/^/driver=/'
runs desktop 'display-manager|gdm3?|lightdm|sddm|gnome-shell|plasmashell|Xorg|Xwayland'
runs earlyoom 'earlyoom'
if [ "$DEEP" = yes ]; then
  if [ -d "$ROOT$MODEL" ]; then
    list=$(find -L "$ROOT$MODEL" -type f -exec ls -lL {} + 2>/dev/null)
    echo "model_files=$(find -L "$ROOT$MODEL" -type f 2>/dev/null | wc -l | tr -d ' ')"
    echo "model_sum=$(echo "$list" | awk '{ n = $NF; sub(".*/", "", n); print n, $5 }' | sort | cksum | tr ' ' '-')"
    echo "model_gib=$(echo "$list" | awk '{ s += $5 } END { printf "%.1f", s / 1073741824 }')"
  fi
  if host ping -c 1 -W 1 127.0.0.1 >/dev/null 2>&1; then
    if host ping -M do -s "$PAYLOAD" -c 2 -W 2 "$PEER" >/dev/null 2>&1; then echo jumbo=yes; else echo jumbo=no; fi
  fi
fi
echo end=1
