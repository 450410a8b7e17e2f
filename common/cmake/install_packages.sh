#!/usr/bin/env bash
# Installs the packages of packages.txt that are missing. Needs root only when some are.
set -euo pipefail
cd "$(dirname "$0")"
mapfile -t wanted < <(grep -v '^#' packages.txt)
missing=()
for package in "${wanted[@]}"; do
  state=$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null || true)
  [ "$state" = "install ok installed" ] || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "packages: all ${#wanted[@]} are installed"
  exit 0
fi
echo "packages: installing ${#missing[@]} of ${#wanted[@]}: ${missing[*]}"
run=()
if [ "$(id -u)" -ne 0 ]; then
  if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    run=(sudo)
  else
    echo "packages: root is needed for that; run: su -c 'apt-get update && apt-get install -y ${missing[*]}'" >&2
    exit 1
  fi
fi
export DEBIAN_FRONTEND=noninteractive
"${run[@]}" apt-get update -qq
"${run[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
echo "packages: done"
