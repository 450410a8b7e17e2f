#!/usr/bin/env bash
# Gets a generator of API clients from PyPI into tests/e2e/openapi/installed, for the test of what /openapi.json promises.
# GALEN_API_TOOLS is another place than that. Needs python3 of 3.10 or newer with its venv module.
set -euo pipefail
cd "$(dirname "$0")"
into=${GALEN_API_TOOLS:-$PWD/installed}
if ! python3 -c 'import ensurepip, venv' 2>/dev/null; then
  run=()
  if [ "$(id -u)" -ne 0 ]; then run=(sudo -n); fi
  export DEBIAN_FRONTEND=noninteractive
  "${run[@]}" apt-get update -qq
  "${run[@]}" apt-get install -y -qq --no-install-recommends python3-venv >/dev/null
fi
[ -x "$into/bin/python" ] || python3 -m venv "$into"
"$into/bin/pip" install --quiet --disable-pip-version-check --requirement requirements.txt
echo "api-tools: all are installed"
