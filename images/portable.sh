#!/usr/bin/env bash
# Puts the programs of a node into a folder that runs where nothing can be installed: on any x86-64
# machine with glibc as new as the one here. portable.sh BUILD_BIN FOLDER
#   images/portable.sh build/bin galen-portable && scp -r galen-portable node: && ssh node galen-portable/galen checks run
# It holds galen, galen-node and galen-gputest, the knowledge, and every shared library they need but glibc's own,
# which programs find by their own path: LD_LIBRARY_PATH would be seen by what the checks start. Needs patchelf.
set -euo pipefail
usage="portable.sh BUILD_BIN FOLDER, as in: images/portable.sh build/bin galen-portable"
bin=${1:?$usage} out=${2:?$usage}
command -v patchelf >/dev/null || { echo "portable.sh: patchelf is not installed: make packages" >&2; exit 1; }
[ -x "$bin/galen" ] || { echo "portable.sh: $bin holds no galen: make build, then build/bin" >&2; exit 1; }
here=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$out/lib"
# Libraries that belong to the machine's own glibc.
glibc='^(ld-linux-x86-64|libc|libm|libpthread|libdl|librt|libresolv|libanl|libutil|libmvec|libnss_[a-z]+)\.so'
for program in galen galen-node galen-gputest; do
  cp "$bin/$program" "$out/$program"
  strip "$out/$program"
  ldd "$bin/$program" | awk '$2 == "=>" {print $1, $3}' | while read -r name path; do
    [[ $name =~ $glibc ]] || { [ -e "$out/lib/$name" ] || cp -L "$path" "$out/lib/$name"; }
  done
  # RPATH, not RUNPATH: it holds for the libraries of libraries too.
  # shellcheck disable=SC2016
  patchelf --force-rpath --set-rpath '$ORIGIN/lib' "$out/$program"
done
cp -r "$here/knowledge" "$out/"
du -sh "$out" | awk '{print $2 ": " $1}'
