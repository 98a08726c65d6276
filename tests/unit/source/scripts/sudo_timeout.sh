timeout 60 env -i PATH="$PATH" RECORD="$RECORD" ONLY=this stdbuf -oL python -m sglang.launch_server --model-path /models/a
