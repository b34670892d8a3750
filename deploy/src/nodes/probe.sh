# Prints facts of one node as key=value lines. POSIX sh; needs no tool but cat, ls, find, cksum, awk,
# uname, and ping where it is there. ROOT is where the node's own root is.
one() { cat "$2" 2>/dev/null | head -n 1 | sed "s/^/$1=/"; }
has() { cat /proc/[0-9]*/comm 2>/dev/null | grep -qxE "$2" && echo "$1=yes" || echo "$1=no"; }
echo "kernel=$(uname -r)"
one mtu "$ROOT/sys/class/net/$IF/mtu"
one speed "$ROOT/sys/class/net/$IF/speed"
one state "$ROOT/sys/class/net/$IF/operstate"
one firmware "$ROOT/sys/class/infiniband/$HCA/fw_ver"
one rate "$ROOT/sys/class/infiniband/$HCA/ports/$PORT/rate"
one link "$ROOT/sys/class/infiniband/$HCA/ports/$PORT/state"
for gid in "$ROOT/sys/class/infiniband/$HCA/ports/$PORT/gids/"*; do
  index=${gid##*/}
  value=$(cat "$gid" 2>/dev/null)
  kind=$(cat "$ROOT/sys/class/infiniband/$HCA/ports/$PORT/gid_attrs/types/$index" 2>/dev/null)
  case "$value" in 0000:0000:0000:0000:0000:0000:0000:0000 | "") ;; *) [ -n "$kind" ] && echo "gid=$index $kind $value" ;; esac
done
grep -E '^(MemTotal|MemAvailable|SwapTotal|SwapFree):' /proc/meminfo 2>/dev/null | awk '{ sub(":", "", $1); print $1 "=" $2 }'
awk '/^full/ { sub("avg10=", "", $2); print "pressure=" $2 }' /proc/pressure/memory 2>/dev/null
grep -oE '[0-9]+\.[0-9]+(\.[0-9]+)?' /proc/driver/nvidia/version 2>/dev/null | head -n 1 | sed 's/^/driver=/'
has desktop 'gnome-shell|Xorg|Xwayland|gdm3?|sddm|plasmashell'
has earlyoom 'earlyoom'
if [ -d "$ROOT$MODEL" ]; then
  echo "model_files=$(find -L "$ROOT$MODEL" -type f 2>/dev/null | wc -l | tr -d ' ')"
  echo "model_sum=$(find -L "$ROOT$MODEL" -type f -exec ls -lL {} + 2>/dev/null | awk '{ n = $NF; sub(".*/", "", n); print n, $5 }' | sort | cksum | tr ' ' '-')"
  echo "model_gib=$(find -L "$ROOT$MODEL" -type f -exec ls -lL {} + 2>/dev/null | awk '{ s += $5 } END { printf "%.1f", s / 1073741824 }')"
fi
if command -v ping >/dev/null 2>&1; then
  if ping -M do -s "$PAYLOAD" -c 2 -W 2 "$PEER" >/dev/null 2>&1; then echo jumbo=yes; else echo jumbo=no; fi
fi
echo end=1
