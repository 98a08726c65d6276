cd /tmp
export CUDA_VISIBLE_DEVICES=0,1,2,3
nohup python3 -u -m sglang.launch_server --model-path /models/a --port=30000 > server.log 2>&1 &
echo "started as $!"
wait
