#!/usr/bin/env bash
# tidy.sh BUILD_DIR: clang-tidy over the sources that the last commit and the working tree changed, at most 8 of them;
# with GALEN_TIDY=all over all that ship (some 40 minutes on two cores).
set -euo pipefail
build=$1
if [ "${GALEN_TIDY:-changed}" = all ]; then
  mapfile -t files < <(git ls-files 'common/*.cc' 'services/*.cc')
else
  base=$(git rev-parse --verify --quiet HEAD~1 || git rev-parse HEAD)
  mapfile -t files < <(git diff --name-only --diff-filter=d "$base" -- 'common/*.cc' 'services/*.cc')
  if [ ${#files[@]} -gt 8 ]; then
    echo "skipped: $((${#files[@]} - 8)) of ${#files[@]} changed files: a large change is read whole by make test-all"
    mapfile -t files < <(printf '%s\n' "${files[@]}" | shuf -n 8 --random-source=.clang-tidy)
  fi
fi
echo "${#files[@]} files to read"
[ ${#files[@]} -eq 0 ] && exit 0
printf '%s\n' "${files[@]}" | xargs -P "$(nproc)" -n 1 clang-tidy --quiet --extra-arg=-Wno-unknown-warning-option -p "$build"
