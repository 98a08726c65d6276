#!/usr/bin/env bash
# Shows the example: checked, rendered, and a known-bad change refused. Usage: demo.sh FOLDER_WITH_DSV4DEPLOY
set -euo pipefail
bin="$(cd -- "$1" && pwd)"
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/dsv4-flash-nvfp4-tp4"
out="$(mktemp -d)"
trap 'rm -rf -- "$out"' EXIT

step() { printf '\n\033[1m$ dsv4deploy %s\033[0m\n' "$*"; "$bin/dsv4deploy" "$@"; }

step validate profile.yaml
step render profile.yaml -o "$out/flash"
printf '\n'
cat "$out/flash/serve.sh"
printf '\nA change that is known to fail is refused before anybody waits for it:\n'
if step validate profile.yaml --set compile.torch_compile=true; then
  echo "the known-bad change was not refused" >&2
  exit 1
fi
