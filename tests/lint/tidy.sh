#!/usr/bin/env bash
# tidy.sh BUILD_DIR: clang-tidy over the sources that ship. A file that passed is not read again
# until it, a header of the tree, or the configuration changes (stamps below BUILD_DIR/tidy).
set -euo pipefail
build=$1
stamps=$build/tidy
mkdir -p "$stamps"
common=$( { cat .clang-tidy; clang-tidy --version; git ls-files -z 'common/*.h' 'services/*.h' 'proto/*.proto' | xargs -0 cat; } | sha256sum | cut -c1-16)
todo=()
while read -r file; do
  stamp=$stamps/$( { echo "$common $file"; cat "$file"; } | sha256sum | cut -c1-32)
  [ -e "$stamp" ] || todo+=("$file $stamp")
done < <(git ls-files 'common/*.cc' 'services/*.cc')
echo "${#todo[@]} files to read"
[ ${#todo[@]} -eq 0 ] && exit 0
printf '%s\n' "${todo[@]}" | xargs -P "$(nproc)" -L 1 bash -c \
  'clang-tidy --quiet -p "$0" "$1" 2>/dev/null && touch "$2"' "$build"
