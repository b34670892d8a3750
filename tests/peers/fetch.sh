#!/bin/sh
# Fetches the real programs that the tests run against, once, into
# ${CODEX_DS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/codex-ds}. Their versions stand in `versions`.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cache=${CODEX_DS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/codex-ds}

say() { printf 'peers: %s\n' "$*"; }
fail() { printf 'peers: %s\n' "$*" >&2; exit 1; }

need() {
    command -v "$1" >/dev/null 2>&1 || fail "$1 is not on PATH. $2"
}

# A folder whose presence says that nothing is half done: it is made beside its place and renamed.
fetch_codex() {
    place=$cache/codex/$1
    if [ -x "$place/node_modules/.bin/codex" ]; then
        say "codex $1 is there"
        return
    fi
    need npm "Install Node.js, which brings npm (https://nodejs.org)."
    say "fetching codex $1 with npm (about 400 MB) into $place"
    mkdir -p "$cache/codex"
    part=$cache/codex/.$1.$$
    rm -rf "$part"
    npm install --loglevel=error --no-progress --no-audit --no-fund --prefix "$part" "@openai/codex@$1" ||
        fail "npm could not install @openai/codex@$1; its message stands above"
    "$part/node_modules/.bin/codex" --version >/dev/null ||
        fail "codex $1 was installed but does not run on this machine"
    rm -rf "$place"
    mv "$part" "$place"
}

# A venv holds its own path and cannot be renamed: it counts as done once it holds its stamp.
fetch_litellm() {
    place=$cache/litellm
    stamp=$place/.installed-$1
    if [ -f "$stamp" ]; then
        say "litellm $1 is there"
        return
    fi
    need python3 "Install Python 3.10 or newer (https://www.python.org)."
    say "fetching litellm $1 with pip (about 750 MB) into $place"
    rm -rf "$place"
    mkdir -p "$cache"
    python3 -m venv "$place" ||
        fail "python3 -m venv failed; on Debian and Ubuntu it needs the package python3-venv"
    "$place/bin/python" -m pip install --quiet "litellm[proxy]==$1" ||
        fail "pip could not install litellm[proxy]==$1; its message stands above"
    : > "$stamp"
}

# Two runs at once would remove each other's work.
mkdir -p "$cache"
lock=$cache/.fetching
if ! mkdir "$lock" 2>/dev/null; then
    fail "another fetch is running; if that is not so, remove the folder $lock"
fi
part=
trap 'rmdir "$lock"; [ -z "$part" ] || rm -rf "$part"' EXIT
trap 'exit 130' INT TERM

while read -r name version; do
    case $name in
        codex) fetch_codex "$version" ;;
        litellm) fetch_litellm "$version" ;;
        *) fail "$here/versions: no way to fetch \"$name\" is known" ;;
    esac
done < "$here/versions"
