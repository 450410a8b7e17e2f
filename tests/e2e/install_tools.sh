#!/usr/bin/env bash
# install_tools.sh FOLDER INTO [OPTION OF PIP...]: gets what FOLDER/requirements.txt lists from PyPI, in a virtual environment INTO or,
# if that is empty, FOLDER/installed, for a test that is skipped without it. Needs python3 of 3.10 or newer with its venv module.
set -euo pipefail
cd "$(dirname "$0")/$1"
into=${2:-$PWD/installed}
if ! python3 -c 'import ensurepip, venv' 2>/dev/null; then
  run=()
  if [ "$(id -u)" -ne 0 ]; then run=(sudo -n); fi
  export DEBIAN_FRONTEND=noninteractive
  "${run[@]}" apt-get update -qq
  "${run[@]}" apt-get install -y -qq --no-install-recommends python3-venv >/dev/null
fi
[ -x "$into/bin/python" ] || python3 -m venv "$into"
"$into/bin/pip" install --quiet --disable-pip-version-check "${@:3}" --requirement requirements.txt
echo "tests/e2e/$1: all tools are installed"
