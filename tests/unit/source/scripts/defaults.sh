: "${MODEL:=/models/default}"
TP=${1:-4}
PORT=${PORT-30000}
export SGLANG_MODE=${SGLANG_MODE:-"fast lane"}
python -m sglang.launch_server --model-path $MODEL --tp ${TP} --port "$PORT" ${FLAGS:---trust-remote-code --enable-metrics} ${MODEL:+--served-model-name "$MODEL"}
