#!/usr/bin/env bash
# Runs fuzzers: run.sh BUILD_DIR TARGET|all RUNS [libFuzzer options]
#   tests/fuzz/run.sh build/fuzz all 10000000
# For long runs `-entropic=0` and ASAN_OPTIONS=malloc_context_size=2:quarantine_size_mb=16 give whole checks some 1.4 times
# the executions a second: with thousands of inputs kept, libFuzzer spends a quarter of the time on weighing them.
# Seeds come from tests/fuzz/seeds, from docs/examples and, in place, from ../shared where that is
# there (seeds.py). What is found on the way is kept in $GALEN_FUZZ_CORPUS/TARGET, for a further run,
# where that is set.
# Ends with an error at the first crash, hang, leak or undefined behaviour; the input that did it is
# then in BUILD_DIR/fuzz/TARGET.crash-*, and `BUILD_DIR/fuzz/TARGET_fuzzer FILE` repeats it.
set -euo pipefail
build=$1 target=$2 runs=$3
shift 3
here=$(cd "$(dirname "$0")" && pwd)

fuzz() {
  local name=$1 max_len=$2
  shift 2
  local program=$build/fuzz/${name}_fuzzer work dictionary=()
  work=$(mktemp -d)
  # shellcheck disable=SC2064
  trap "rm -rf '$work'" EXIT
  mkdir -p "$work/found" "$work/seeds"
  python3 "$here/seeds.py" "$program" "$name" "$max_len" "$work/seeds"
  if [ -f "$here/dictionaries/$name.dict" ]; then
    dictionary=("-dict=$work/dictionary")
    # A dictionary may begin with "# with NAME...": the words of those belong to it too.
    cat "$here/dictionaries/$name.dict" >"$work/dictionary"
    for other in $(sed -n '1s/^# with //p' "$here/dictionaries/$name.dict"); do
      cat "$here/dictionaries/$other.dict" >>"$work/dictionary"
    done
  fi
  local found=$work/found
  if [ -n "${GALEN_FUZZ_CORPUS:-}" ]; then
    found=$GALEN_FUZZ_CORPUS/$name
    mkdir -p "$found"
  fi
  "$program" -runs="$runs" -max_len="$max_len" -timeout=10 -rss_limit_mb=4096 -print_final_stats=1 \
    -artifact_prefix="$build/fuzz/$name." "${dictionary[@]}" "$@" "$found" "$work/seeds"
  rm -rf "$work"
}

while read -r name max_len; do
  if [ "$target" = all ] || [ "$target" = "$name" ]; then (fuzz "$name" "$max_len" "$@"); fi
done <"$build/fuzz/targets.txt"
