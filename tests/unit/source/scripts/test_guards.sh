[ -f ./nccl.env ] && source ./nccl.env
if [[ -f plain.env ]]; then
  . plain.env
fi
mkdir -p /tmp/logs || exit 1
test -d /nowhere && export NEVER=1
export NCCL_P2P_LEVEL
exec nice -n 5 python -m sglang.launch_server --model-path /models/a
python -m sglang.launch_server --model-path /models/never
