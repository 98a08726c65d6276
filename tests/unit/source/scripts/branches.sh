BACKEND=triton
if [ "${FAST:-0}" = 1 ]; then
  BACKEND=flashinfer
  export SGLANG_FAST=1
fi
case "$1" in
  small) TP=2 ;;
  *) TP=4 ;;
esac
python -m sglang.launch_server --model-path /models/a --attention-backend $BACKEND --tp $TP "$@"
