#!/usr/bin/env bash
# Builds once, then prints, a folder to lay over the nodes: the real SGLang on the CPU in /opt/sglang, with a tiny model.
# About a minute and 1.6 GB the first time. Needs root and Debian's python3-venv, whose Python is the one in the nodes.
set -euo pipefail
here="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)"
recipe="$(cat "$here"/requirements*.txt "$here"/tiny_model.py | sha256sum | cut -c1-12)"
layer="${TB_CACHE:-/var/cache/dsv4-testbed}/engine-$recipe"

mkdir -p "$(dirname "$layer")"
exec 9>"$layer.lock"
flock 9
if [[ ! -e "$layer/ready" ]]; then
  rm -rf "$layer"
  mkdir -p "$layer/root/opt/sglang"
  # A virtual environment knows its own path, so it is made where the nodes will see it.
  if [[ -e /opt/sglang && ! -L /opt/sglang ]]; then
    echo "layer.sh: /opt/sglang is somebody else's" >&2
    exit 1
  fi
  ln -sfn "$layer/root/opt/sglang" /opt/sglang
  trap 'rm -f /opt/sglang' EXIT
  /usr/bin/python3 -m venv /opt/sglang/venv
  /opt/sglang/venv/bin/pip install -qq -r "$here/requirements.txt" >&2
  /opt/sglang/venv/bin/pip install -qq --no-deps -r "$here/requirements-alone.txt" >&2
  /opt/sglang/venv/bin/python "$here/tiny_model.py" /opt/sglang/tiny >&2
  touch "$layer/ready"
fi
cp -rT "$here/stubs" "$layer/root/opt/sglang/stubs"
echo "$layer/root"
