# What the fetching scripts share. Sourced, from a script in POSIX sh with `set -eu`.

cache=${CODEX_DS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/codex-ds}

say() { printf 'peers: %s\n' "$*"; }
fail() { printf 'peers: %s\n' "$*" >&2; exit 1; }

need() {
    command -v "$1" >/dev/null 2>&1 || fail "$1 is not on PATH. $2"
}

# Two runs at once would remove each other's work. An argument names what is fetched by itself.
only_one() {
    mkdir -p "$cache"
    lock=$cache/.fetching${1:+-$1}
    mkdir "$lock" 2>/dev/null ||
        fail "another fetch is running; if that is not so, remove the folder $lock"
    trap 'rmdir "$lock"' EXIT
    trap 'exit 130' INT TERM
}

# venv PLACE PIP_ARGUMENTS...: a new venv with these packages. It holds its own path and cannot be
# made elsewhere and renamed, so whoever calls this marks it as done afterwards.
venv() {
    place=$1
    shift
    need python3 "Install Python 3.10 or newer (https://www.python.org)."
    rm -rf "$place"
    python3 -m venv "$place" ||
        fail "python3 -m venv failed; on Debian and Ubuntu it needs the package python3-venv"
    "$place/bin/python" -m pip install --quiet --disable-pip-version-check "$@" ||
        fail "pip could not install $*; its message stands above"
}
