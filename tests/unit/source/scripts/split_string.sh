ARGS="--model-path /models/a --tp 4 \
  --trust-remote-code"
ARGS="$ARGS --host 0.0.0.0"
ARGS+="	--port 30001"
EMPTY=
python -m sglang.launch_server $ARGS $EMPTY ${NOTHING:-} "$EMPTY"
