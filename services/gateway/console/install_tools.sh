#!/usr/bin/env bash
# Gets what checks the web console: Debian's Chromium, and the npm packages of package-lock.json. Root only where Chromium is missing.
set -euo pipefail
cd "$(dirname "$0")"
if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
  echo "console-tools: there is no node with npm; install Node.js 20 or newer" >&2
  exit 1
fi
if ! command -v chromium >/dev/null; then
  run=()
  if [ "$(id -u)" -ne 0 ]; then run=(sudo -n); fi
  export DEBIAN_FRONTEND=noninteractive
  "${run[@]}" apt-get update -qq
  "${run[@]}" apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null
fi
npm ci --silent
echo "console-tools: all are installed"
