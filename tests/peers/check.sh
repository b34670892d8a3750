#!/bin/sh
# Says in plain words what a build, or with the argument `test` the tests, would miss on this machine.
set -u

missing=0
miss() { printf 'missing: %s\n' "$*" >&2; missing=1; }

if ! command -v cargo >/dev/null 2>&1; then
    miss "cargo. Install Rust 1.90 or newer (https://rustup.rs)."
elif ! why=$(cargo --version 2>&1); then
    miss "a cargo that runs; it says: $(printf '%s\n' "$why" | head -n 1)
  If HOME is not the one that Rust was installed in, set RUSTUP_HOME to that one's .rustup folder."
fi
command -v cc >/dev/null 2>&1 || miss "cc. Install a C compiler (Debian: build-essential; macOS: xcode-select --install)."
command -v npm >/dev/null 2>&1 || miss "npm. Install Node.js, which brings it (https://nodejs.org)."
if ! command -v python3 >/dev/null 2>&1; then
    miss "python3. Install Python 3.10 or newer (https://www.python.org)."
elif ! python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' >/dev/null 2>&1; then
    miss "Python 3.10 or newer with venv (Debian: python3-venv); found: $(python3 --version 2>&1)"
fi
if [ "${1:-}" = test ] && ! command -v kubectl >/dev/null 2>&1; then
    miss "kubectl, for the tests of the serving stack (https://kubernetes.io/docs/tasks/tools/)."
fi
exit $missing
