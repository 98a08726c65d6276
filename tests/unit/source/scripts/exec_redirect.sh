exec > >(cat) 2>&1
umask 022
ulimit -l unlimited 2>/dev/null
ulimit -n 1024
trap 'echo bye' EXIT
python -m sglang.launch_server --model-path /models/a
