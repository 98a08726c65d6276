bash -c "python -m sglang.launch_server --model-path /models/a"
