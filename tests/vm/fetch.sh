#!/usr/bin/env bash
# Fetches the Debian packages of the guest and a kernel, and unpacks them below a folder. Nothing is installed, no root is
# needed, and what is there already is not fetched again.
#   fetch.sh FOLDER    prints the kernel's release; exit code 77, with one line that says why, where it cannot be had
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=$1
mkdir -p "$folder"
cannot() { echo "the guest's packages cannot be had: $*"; exit 77; }

exec 9>"$folder/lock"
flock 9
mapfile -t wanted < <(grep -v '^#' "$here/guest_packages.txt")
# Another list of packages is another folder.
stamp="$folder/fetched-$(sha256sum "$here/guest_packages.txt" | cut -c1-16)"
if [ ! -e "$stamp" ]; then
  command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || cannot "this is no Debian"
  kernel=$(apt-cache depends linux-image-amd64 2>/dev/null | sed -n 's/^ *Depends: \(linux-image-[^ ]*\)$/\1/p' | head -1)
  [ -n "$kernel" ] || cannot "apt knows no linux-image-amd64 (has apt-get update been run?)"
  rm -rf "$folder"/debs "$folder"/root "$folder"/fetched-*
  mkdir -p "$folder/debs" "$folder/root"
  (cd "$folder/debs" && apt-get -qq -o APT::Sandbox::User= download "$kernel" "${wanted[@]}") >"$folder/log" 2>&1 ||
    cannot "apt-get download: $(grep -m1 '^E:' "$folder/log" || echo failed)"
  for deb in "$folder"/debs/*.deb; do dpkg-deb -x "$deb" "$folder/root"; done
  rm -rf "$folder/debs"
  ls "$folder/root/lib/modules" >"$stamp.new"
  mv "$stamp.new" "$stamp"
fi
cat "$stamp"
