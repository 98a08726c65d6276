#!/bin/bash
set -a
ARGS=(--model-path /models/a)
ARGS[0]='--model-path'
ARGS+=(--tp)
ARGS[3]=4
python -m sglang.launch_server "${ARGS[@]}"
ARGS=--model
ARGS+=-path
python -m sglang.launch_server "${ARGS[@]}"
declare -A PORT=([a]=30000 [b]=30001)
python -m sglang.launch_server --port "${PORT[a]}"
