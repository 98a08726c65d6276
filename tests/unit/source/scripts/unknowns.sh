source /opt/nowhere/bin/activate 2>/dev/null
HOST=$(hostname -I | awk '{print $1}')
python -m sglang.launch_server --model-path "$MODEL" --host $HOST --nccl-port `echo 1` --tp $TP $EXTRA --node-rank "${RANK}"
