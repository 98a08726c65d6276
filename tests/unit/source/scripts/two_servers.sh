CUDA_VISIBLE_DEVICES=0,1,2,3 python -m sglang.launch_server --model-path /models/a --port 30000 &
CUDA_VISIBLE_DEVICES=4,5,6,7 python -m sglang.launch_server --model-path /models/a --port 30100 &
wait
