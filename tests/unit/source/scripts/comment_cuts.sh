python -m sglang.launch_server \
  --model-path /models/a \
  # --tp 8 \
  --port 30000
