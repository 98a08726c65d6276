for gpu in 0 1; do
  CUDA_VISIBLE_DEVICES=$gpu python -m sglang.launch_server --model-path /models/a --port $((30000 + gpu)) &
done
wait
