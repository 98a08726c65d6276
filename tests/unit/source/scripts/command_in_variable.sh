CMD="python -m sglang.launch_server --model-path /models/a"
CMD="$CMD --tp 4"
$CMD --port 1
RUN=(python -m sglang.launch_server)
RUN+=(--model-path "/models/a b")
"${RUN[@]}" --port 2
eval "$CMD --port 3 --x '{\"a\": 1}'"
eval exec env "X='a b'" python -m sglang.launch_server --port 4
