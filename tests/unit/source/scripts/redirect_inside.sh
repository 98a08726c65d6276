python -m sglang.launch_server > out.log --model-path /models/a 2>&1 --tp 2
