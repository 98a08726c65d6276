set -a
source ./nccl.env
set +a
. plain.env
NOT_EXPORTED=1
python -m sglang.launch_server --model-path /models/a
