#!/bin/bash
TP=4 PORT=30000
python -m sglang.launch_server --tp $TP --port $PORT
TP=8 PORT=30001 # both for what follows
export NCCL_DEBUG=INFO
A=1 B=2 \
  python -m sglang.launch_server --tp $TP
