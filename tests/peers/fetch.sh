#!/bin/sh
# Fetches the real programs that the tests run against, once, into
# ${CODEX_DS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/codex-ds}. Their versions stand in `versions`.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"

# A folder that is there is whole: it is filled beside its place and then renamed.
fetch_codex() {
    place=$cache/codex/$1
    if [ -x "$place/node_modules/.bin/codex" ]; then
        say "codex $1 is there"
        return
    fi
    need npm "Install Node.js, which brings npm (https://nodejs.org)."
    say "fetching codex $1 with npm (about 400 MB) into $place"
    part=$cache/codex/.part-$1
    rm -rf "$part"
    mkdir -p "$part"
    npm install --loglevel=error --no-progress --no-audit --no-fund --no-update-notifier \
        --prefix "$part" "@openai/codex@$1" ||
        fail "npm could not install @openai/codex@$1; its message stands above"
    # Without a home of its own it would make one in ~/.codex.
    mkdir "$part/home"
    CODEX_HOME=$part/home "$part/node_modules/.bin/codex" --version >/dev/null ||
        fail "codex $1 was installed but does not run on this machine"
    rm -rf "$part/home"
    rm -rf "$place"
    mv "$part" "$place"
}

fetch_litellm() {
    place=$cache/litellm
    stamp=$place/.installed-$1
    if [ -f "$stamp" ]; then
        say "litellm $1 is there"
        return
    fi
    say "fetching litellm $1 with pip (about 750 MB) into $place"
    venv "$place" "litellm[proxy]==$1"
    : > "$stamp"
}

only_one
while read -r name version; do
    case $name in
        codex) fetch_codex "$version" ;;
        litellm) fetch_litellm "$version" ;;
        *) fail "$here/versions: no way to fetch \"$name\" is known" ;;
    esac
done < "$here/versions"
