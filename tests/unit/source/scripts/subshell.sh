export A=outer
(
  export A=inner B=only
  python -m sglang.launch_server --model-path /models/a --port 1
)
{ python -m sglang.launch_server --model-path /models/a --port 2; } > out.log
unset A
python -m sglang.launch_server --model-path /models/a --port 3
