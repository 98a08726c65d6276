if [ -z "${PORT:-}" ]; then
  PORT=30000
  export SGLANG_DEFAULTED=1
fi
KEY=/etc/key
if [[ -n "${CREDENTIALS:-}" ]]; then
  KEY="$CREDENTIALS/key"
fi
[ -n "$MORE" ] && ARGS="--more"
python -m sglang.launch_server --port "$PORT" --key "$KEY"
