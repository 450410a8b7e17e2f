#!/usr/bin/env bash
# Fails when a C++ file is not as clang-format would write it. `--fix` writes it so.
set -euo pipefail
mapfile -t files < <(git ls-files '*.cc' '*.h')
if [ "${1:-}" = --fix ]; then
  exec clang-format -i "${files[@]}"
fi
clang-format --dry-run -Werror "${files[@]}"
echo "${#files[@]} files are formatted"
