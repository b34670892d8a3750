#!/bin/sh
# bench.sh HOOK [judge.py's arguments]: the guard's test cases as other guards judge them, and what
# each guard costs. Linux only.
#
# No command is run: every guard gets a request on standard input and answers it. For the case that
# one did more, they run in namespaces of their own: no network, no other process, no device, and
# nothing that can be written but a temporary home.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
[ -x "${1:-}" ] || fail "the first argument is the guard's program"
hook=$1
shift
for program in unshare git node python3; do
    need "$program" "This comparison runs on Linux, with util-linux, git, Node.js and Python 3.10."
done

world=$(mktemp -d /var/tmp/codex-ds-guards.XXXXXX)
trap 'rm -rf "$world"' EXIT
trap 'exit 130' INT TERM
mkdir -p "$world/bin" "$world/outer" "$world/home/dev/work/llm-serve"
git -C "$world/home/dev/work/llm-serve" init --quiet
for preset in lab dev; do
    profile=$world/home/dev/.codex-ds/$preset
    mkdir -p "$profile/bin"
    cp "$hook" "$profile/bin/codex-ds-hook"
    printf 'schema = 1\npreset = "%s"\n' "$preset" > "$profile/guard.toml"
done
while read -r name version; do
    [ -f "$cache/guards/$name-$version/.installed" ] || fail "$name is missing: run \`make peers-guard\`"
    cp -Rp "$cache/guards/$name-$version" "$world/$name"
done < "$here/versions"
cp "$here/judge.py" "$here/inside.sh" "$here/../../../hook/tests/cases/"*.tsv "$world/"
# The only programs that a guard finds by name. What lies in /home is elsewhere inside.
link() {
    case $2 in
        /home/*) ln -s "$world/outer${2#/home}" "$world/bin/$1" ;;
        *) ln -s "$2" "$world/bin/$1" ;;
    esac
}
link git "$(command -v git)"
link node "$(readlink -f "$(command -v node)")"
link python3 "$(python3 -c 'import os, sys; print(os.path.realpath(sys.executable))')"
unshare --user --map-root-user --mount --net --pid --fork sh "$world/inside.sh" "$world" "$@"
