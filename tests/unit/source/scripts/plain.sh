#!/bin/bash
set -euo pipefail
export NCCL_P2P_LEVEL=SYS
export PYTORCH_CUDA_ALLOC_CONF='expandable_segments:True'
exec python -m sglang.launch_server \
    --model-path /models/DeepSeek-V4-Flash-NVFP4 \
    --tp 4 \
    --mem-fraction-static 0.60
