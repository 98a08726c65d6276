#!/bin/bash
# Tests that the script answers by itself go one way, and what they pass over starts nothing.
MODE=big
GPUS=8
ARGS=(--model-path /models/m)
if [[ "$MODE" == "big" && $GPUS -ge 8 ]]; then
  ARGS+=(--tp 8)
elif [ "$MODE" = small ]; then
  ARGS+=(--tp 1)
else
  ARGS+=(--tp 2)
fi
[[ -n "$MODE" ]] && ARGS+=(--served-model-name "$MODE")
[ -z "$MODE" ] && ARGS+=(--never)
if ! [[ $MODE != big ]]; then export NCCL_DEBUG=WARN; fi
if [ "$GPUS" -lt 8 ]; then
  python -m sglang.launch_server --model-path /models/small
else
  python -m sglang.launch_server "${ARGS[@]}"
fi
