#!/bin/bash
# A function's own variables end with it, exported or not; what else it sets stays, whatever commands stand before.
export TP=1
set -a
start() {
  local TP=$1 port=30000
  shift
  echo "starting"
  LAST=$port
  python -m sglang.launch_server --tp "$TP" "$@"
}
start 2 --host 0.0.0.0
set +a
NCCL_DEBUG=INFO start 4
python -m sglang.launch_server --tp "$TP" --port "$LAST"
