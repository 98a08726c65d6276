#!/bin/bash
# the way many launchers read their arguments
TP=4; MODEL=/models/a
usage() { echo "usage: $0 [--tp N]"; exit 1; }
while [[ $# -gt 0 ]]; do
  case "$1" in
    --tp) TP="$2"; shift 2 ;;
    *) usage ;;
  esac
done
python -m sglang.launch_server --model-path "$MODEL" --tp "$TP"
