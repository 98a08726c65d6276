#!/usr/bin/env bash
# Builds once, then prints, a folder to lay over the nodes beside that of layer.sh: in /opt/real an older SGLang as pip
# installs it, and forks of both versions as an editable install leaves them. They share the libraries of layer.sh.
set -euo pipefail
here="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)"
older=0.5.13.post1
base="$(bash "$here/layer.sh")"
newer="$(sed -n 's/^sglang==//p' "$here/requirements-alone.txt")"
recipe="$(cat "$here"/*.sh "$here"/requirements*.txt | sha256sum | cut -c1-12)"
layer="${TB_CACHE:-/var/cache/dsv4-testbed}/engines-$recipe"

exec 9>"$layer.lock"
flock 9
if [[ ! -e "$layer/ready" ]]; then
  rm -rf "$layer"
  mkdir -p "$layer/root/opt/real"
  if [[ -e /opt/real || (-e /opt/sglang && ! -L /opt/sglang) ]]; then
    echo "venvs.sh: /opt/real or /opt/sglang is somebody else's" >&2
    exit 1
  fi
  # Virtual environments and editable installs know their own paths, the latter behind any link.
  mkdir /opt/real
  mount --bind "$layer/root/opt/real" /opt/real
  ln -sfn "$base/opt/sglang" /opt/sglang
  trap 'rm -f /opt/sglang; umount /opt/real; rmdir /opt/real' EXIT
  pip=(/opt/sglang/venv/bin/python -m pip --quiet --disable-pip-version-check)
  # The older one needs an older transformers than the newer one has.
  "${pip[@]}" install --no-deps --target /opt/real/older transformers==5.12.1 'tokenizers<=0.23.0' 'huggingface-hub<2' >&2
  mkdir /opt/real/libraries
  ln -s /opt/sglang/venv/lib/python3.11/site-packages/* /opt/real/libraries/
  rm /opt/real/libraries/sglang /opt/real/libraries/sglang-*
  for version in "$older" "$newer"; do
    for venv in "$version" "fork-$version"; do
      /usr/bin/python3 -m venv --without-pip "/opt/real/$venv"
      libraries="/opt/real/$venv/lib/python3.11/site-packages/libraries.pth"
      [[ "$version" == "$older" ]] && echo /opt/real/older >"$libraries"
      echo /opt/real/libraries >>"$libraries"
    done
    "${pip[@]}" --python "/opt/real/$version/bin/python" install --no-deps "sglang==$version" >&2
    mkdir -p "/opt/real/forks/$version"
    cp -a "/opt/real/$version/lib/python3.11/site-packages/sglang" "/opt/real/forks/$version/"
    # As the SGLang project does: setuptools, whose editable install is a finder.
    printf '%s\n' '[build-system]' 'requires = ["setuptools"]' 'build-backend = "setuptools.build_meta"' \
      '[project]' 'name = "sglang"' "version = \"$version\"" '[tool.setuptools]' 'packages = ["sglang"]' \
      >"/opt/real/forks/$version/pyproject.toml"
    "${pip[@]}" --python "/opt/real/fork-$version/bin/python" install --no-deps --no-build-isolation \
      --editable "/opt/real/forks/$version" >&2
  done
  touch "$layer/ready"
fi
echo "$layer/root"
