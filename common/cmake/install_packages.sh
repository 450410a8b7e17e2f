#!/usr/bin/env bash
# install_packages.sh LIST...: installs what is missing of the packages in packages/LIST.txt. Needs root only when some are.
set -euo pipefail
cd "$(dirname "$0")/packages"
builds_on="Galen is tested on Debian 12 and builds on Debian 13; Ubuntu 24.04 has the packages"
# Without the file the system is "unknown" below, and a package that is not installed has no status.
# shellcheck disable=SC1091
. /etc/os-release 2>/dev/null || true
case ${ID:-unknown}-${VERSION_ID:-} in
  debian-12 | debian-13) ;;
  ubuntu-22.04)
    echo "packages: $builds_on, not on Ubuntu 22.04: its Boost is 1.74 (1.81 is needed) and its g++ is 11 (12 is needed)" >&2
    exit 1
    ;;
  *)
    if ! command -v apt-get >/dev/null; then
      echo "packages: $builds_on; ${PRETTY_NAME:-this system} has no apt-get. Use a container of one of them." >&2
      exit 1
    fi
    echo "packages: $builds_on; ${PRETTY_NAME:-this system} is not tested" >&2
    ;;
esac

is_installed() { [ "$(dpkg-query -W -f='${Status}' "$1" 2>/dev/null || true)" = "install ok installed" ]; }

lists=("${@/%/.txt}")
mapfile -t wanted < <(grep -hv '^#' "${lists[@]}")
missing=()
for line in "${wanted[@]}"; do
  installed=
  for package in ${line//|/ }; do
    if is_installed "$package"; then installed=yes; fi
  done
  [ -n "$installed" ] || missing+=("$line")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "packages: all ${#wanted[@]} are installed"
  exit 0
fi
run=()
if [ "$(id -u)" -ne 0 ]; then
  if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    run=(sudo)
  else
    echo "packages: ${#missing[@]} are missing and installing them needs root; as root, run: make packages" >&2
    exit 1
  fi
fi
export DEBIAN_FRONTEND=noninteractive
echo "packages: ${#missing[@]} of ${#wanted[@]} are missing; reading the package index"
"${run[@]}" apt-get update -qq
chosen=()
for line in "${missing[@]}"; do
  found=
  for package in ${line//|/ }; do
    # `show` also succeeds for a package that others only mention.
    if [ -z "$found" ] && grep -q '^  Candidate: [^(]' <<<"$(apt-cache policy "$package")"; then found=$package; fi
  done
  if [ -z "$found" ]; then
    echo "packages: ${line} is not available here. $builds_on." >&2
    exit 1
  fi
  chosen+=("$found")
done
echo "packages: installing ${chosen[*]}"
"${run[@]}" apt-get install -y -qq --no-install-recommends "${chosen[@]}" >/dev/null
echo "packages: done"
