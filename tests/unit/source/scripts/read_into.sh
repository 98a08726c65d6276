#!/bin/bash
PORT=1 TP=1 HOST=1 MODEL=1 STEPS=1 TOKENS=1
ARGS=(--model-path /models/a)
read -r PORT HOST <<<"30000 0.0.0.0"
printf -v MODEL '/models/%s' b
mapfile -t ARGS <<<'--trust-remote-code'
(( TP = 4 ))
let STEPS=3
(( ++TOKENS ))
python -m sglang.launch_server --model-path "$MODEL" --port "$PORT" --host "$HOST" --tp "$TP" "${ARGS[@]}"
python -m sglang.launch_server --speculative-num-steps "$STEPS" --speculative-num-draft-tokens "$TOKENS"
python -m sglang.launch_server --trust-remote-code
