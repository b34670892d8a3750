#!/bin/sh
# Installs codex-ds from an unpacked release archive, the one that this script lies in:
#
#   ./install.sh                    into ~/.local
#   ./install.sh --prefix /usr/local
#   ./install.sh --uninstall        takes out what it put there
#
# Or fetches one first, from a folder or an address that holds the archives:
#
#   sh install.sh --from https://example.org/releases --version 0.1.0
set -eu

prefix=$HOME/.local
from=
version=
uninstall=

say() { printf '%s\n' "$*"; }
fail() { printf 'install.sh: %s\n' "$*" >&2; exit 1; }

while [ $# -gt 0 ]; do
    case $1 in
        --prefix) prefix=${2:?--prefix needs a folder}; shift 2 ;;
        --from) from=${2:?--from needs a folder or an address}; shift 2 ;;
        --version) version=${2:?--version needs a version}; shift 2 ;;
        --uninstall) uninstall=yes; shift ;;
        -h|--help) sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 0 ;;
        *) fail "unknown option $1; see $0 --help" ;;
    esac
done

target() {
    case $(uname -s)-$(uname -m) in
        Linux-x86_64) say x86_64-unknown-linux-gnu ;;
        Linux-aarch64|Linux-arm64) say aarch64-unknown-linux-gnu ;;
        Darwin-arm64) say aarch64-apple-darwin ;;
        Darwin-x86_64) say x86_64-apple-darwin ;;
        *) fail "there is no archive for $(uname -sm); build it: cargo install --path codex-ds" ;;
    esac
}

check() {
    if command -v sha256sum >/dev/null 2>&1; then
        sha256sum --quiet --check "$1" >&2
    else
        shasum -a 256 --check "$1" >/dev/null
    fi
}

get() {
    case $from in
        http://*|https://*) curl --fail --location --silent --show-error --output "$1" "$from/$1" ;;
        *) cp "$from/$1" "$1" ;;
    esac || fail "cannot get $from/$1"
}

if [ -n "$from" ]; then
    [ -n "$version" ] || fail "--from needs --version too, as in --version 0.1.0"
    from=$(case $from in http://*|https://*) say "$from" ;; *) cd "$from" && pwd ;; esac)
    name=codex-ds-$version-$(target)
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    cd "$work"
    get "$name.tar.gz"
    get "$name.tar.gz.sha256"
    check "$name.tar.gz.sha256" || fail "$name.tar.gz is not what its checksum says; nothing was installed"
    tar -xzf "$name.tar.gz"
    cd "$name"
else
    cd "$(dirname "$0")"
fi

[ -f SHA256SUMS ] || fail "no SHA256SUMS here: run it in an unpacked release archive, or with --from"
files=$(sed 's/^[0-9a-f]*  //' SHA256SUMS | grep -E '^(bin|share)/')

if [ -n "$uninstall" ]; then
    say "$files" | while read -r file; do rm -f "$prefix/$file"; done
    say "taken out of $prefix; a profile stays until you run: codex-ds undo (before this)"
    exit 0
fi

check SHA256SUMS || fail "a file of the archive is not what its checksum says; nothing was installed"
say "$files" | while read -r file; do
    mkdir -p "$prefix/$(dirname "$file")"
    # Beside its place, then renamed: a program that runs is not written into.
    cp "$file" "$prefix/$file.new"
    mv "$prefix/$file.new" "$prefix/$file"
done
say "installed $("$prefix/bin/codex-ds" --version) in $prefix"
case :$PATH: in
    *:"$prefix/bin":*) ;;
    *) say "$prefix/bin is not on your PATH: add it" ;;
esac
say "next: codex-ds setup --endpoint http://HOST:4000/v1"
