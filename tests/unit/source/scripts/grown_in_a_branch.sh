#!/bin/bash
ARGS=(--model-path /models/V4 --tp 8)
OPTS="--port 30001"
if [[ "${USE_SPEC:-0}" == "1" ]]; then
  ARGS+=(--speculative-algorithm EAGLE)
  OPTS="$OPTS --host 1"
fi
exec python3 -m sglang.launch_server "${ARGS[@]}" $OPTS
