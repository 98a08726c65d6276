export HF_HUB_OFFLINE=1 TRITON_CACHE_DIR=/tmp/triton
readonly LEVEL=info
declare -x SGLANG_LOG=$LEVEL
time sglang serve /models/a --tp 2 --log-level $LEVEL
