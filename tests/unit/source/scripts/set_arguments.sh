set -- --tp 4 --model-path "/models/a b"
shift 2
python -m sglang.launch_server "$@" $# "$1"
exit 0
python -m sglang.launch_server --never
