#!/usr/bin/env bash
# A comma lost in .clang-tidy turns families of checks off without a word: so one check of each
# family that we count on is asked for by name.
set -euo pipefail
on=$(clang-tidy --list-checks | tr -d ' ')
while read -r check; do
  grep -qx -- "$check" <<<"$on" || { echo ".clang-tidy: $check is not on"; exit 1; }
done < tests/lint/tidy_checks.txt
echo "$(wc -l < tests/lint/tidy_checks.txt) expected checks are on"
