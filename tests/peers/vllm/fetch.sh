#!/bin/sh
# Fetches the real vLLM for CPU and makes it a tiny model: random weights behind DeepSeek V4's own
# tokenizer, so that prompts, tokens, tool calls and thinking are vLLM's own work. Linux only.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"

place=$cache/vllm
stamp=$place/.installed
if cmp -s "$here/requirements.txt" "$stamp"; then
    say "vllm is there"
    exit 0
fi
only_one
say "fetching vllm with pip (about 6 GB) into $place; this takes some minutes"
venv "$place" --no-deps -r "$here/requirements.txt"
"$place/bin/python" "$here/prepare.py" "$place/model"
cp "$here/requirements.txt" "$stamp"
