#!/bin/sh
# Fetches other guards for `make bench-peers`, once, each with its own package manager. None is set
# up for an agent: judge.py hands them requests on standard input and reads their answers.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"

only_one guards
guards=$cache/guards
mkdir -p "$guards"

# The name of each folder says its version: another one is fetched beside it.
while read -r name version; do
    folder=$guards/$name-$version
    if [ -f "$folder/.installed" ]; then
        say "$name $version is there"
        continue
    fi
    say "fetching $name $version into $folder"
    case $name in
        cc-safety-net)
            need npm "Install Node.js, which brings npm (https://nodejs.org)."
            npm install --loglevel=error --no-progress --no-audit --no-fund --no-update-notifier \
                --ignore-scripts --prefix "$folder" "$name@$version" ||
                fail "npm could not install $name@$version; its message stands above"
            ;;
        nah) venv "$folder" "nah==$version" ;;
        *) fail "$here/versions: no way to fetch \"$name\" is known" ;;
    esac
    : > "$folder/.installed"
done < "$here/versions"
