python -m sglang.launch_server --model-path /models/a
if then (( ;;
