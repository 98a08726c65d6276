port() { local base=$1; PORT=$((base + 100 * $2)); }
main() {
  port 30000 2
  export SGLANG_PORT_BASE=$PORT
  python -m sglang.launch_server --model-path /models/a --port "$PORT" "$@"
}
main --tp 4 "--served-model-name=a b"
