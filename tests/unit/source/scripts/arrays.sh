#!/usr/bin/env bash
MODEL="/models/with space"
ARGS=(
  --model-path "$MODEL"   # the checkpoint
  --tp 8
  # --disable-cuda-graph
  --json-model-override-args '{"index_topk": 512}'
)
ARGS+=(--port "${PORT:-30000}")
EXTRA=()
EXTRA[0]=--enable-metrics
python -m sglang.launch_server "${ARGS[@]}" "${EXTRA[@]}" "pre${ARGS[@]}post" ${ARGS[1]} "${#ARGS[@]}"
