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

printf '\nThe whole loop on this machine, with the rehearsal engine: no GPU, no root, no ssh.\n'
"$bin/dsv4deploy" rehearse venv "$out/engine" --engine 0.5.21
sed -e "s#/opt/rehearsal#$out/engine#" -e "s#supervisor: process#supervisor: process, user: $(id -un)#" \
  ../rehearsal/profile.yaml >"$out/profile.yaml"
cp ../../inventories/local.ini "$out"
cd -- "$out"
# Everything stays in the folder that is removed at the end.
export HOME="$out"
trap '"$bin/dsv4deploy" stop -i local.ini >/dev/null || true; rm -rf -- "$out"' EXIT

step plan -i local.ini
step apply -i local.ini
step status -i local.ini
step apply -i local.ini
printf '\nA start that fails is undone:\n'
if step apply -i local.ini --yes --set env.DSV4_REHEARSAL_FAIL=stream-capture-isolation; then
  echo "the failing start was not noticed" >&2
  exit 1
fi
step apply -i local.ini --yes --set memory.fraction_static=0.5
step rollback -i local.ini --yes
step history -i local.ini
step stop -i local.ini
