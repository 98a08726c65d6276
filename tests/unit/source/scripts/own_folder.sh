HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
source "$HERE/nccl.env"
export NCCL_P2P_LEVEL NCCL_PROTO
exec env -u NCCL_DEBUG SGLANG_X='a b' python -m sglang.launch_server --model-path /models/a
