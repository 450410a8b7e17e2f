#!/usr/bin/env bash
# Builds kube-apiserver of the newest Kubernetes of versions.txt out of its Go module, into helm/tools/installed/bin, for
# tests/kube/api_server_test.py, which also needs Debian's etcd-server. Takes some minutes of two processors, so `make kube-tools` leaves it out.
set -euo pipefail
cd "$(dirname "$0")"
into=${GALEN_KUBE_TOOLS:-$PWD/installed}
what=$(sed -n 's/^kubernetes //p' versions.txt | sort -V | tail -1)
version=${what#*@}
mkdir -p "$into/bin"
into=$(cd "$into" && pwd)
stamp=$into/bin/.kube-apiserver
if [ "$(cat "$stamp" 2>/dev/null)" = "$what" ]; then echo "kube-tools: kube-apiserver is there"; exit 0; fi
source=$(go mod download -json "$what" | python3 -c 'import json, sys; print(json.load(sys.stdin)["Dir"])')
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp -r "$source" "$scratch/source"
chmod -R u+w "$scratch/source"
cd "$scratch/source"
# In its repository Kubernetes is built with its libraries beside it; from here they are modules like any other, of the version that belongs to it.
rm -f go.work go.work.sum
library=v0.${version#v1.}
for name in $(sed -n 's,^[[:space:]]*\(k8s\.io/[a-z-]*\) => \./staging.*,\1,p' go.mod); do
  go mod edit -dropreplace "$name" -require "$name@$library"
done
CGO_ENABLED=0 GOFLAGS='-buildvcs=false -mod=mod' nice -n 19 go build -o "$into/bin/kube-apiserver" ./cmd/kube-apiserver
echo "$what" >"$stamp"
echo "kube-tools: kube-apiserver $version is installed"
