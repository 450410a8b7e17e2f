#!/usr/bin/env bash
# Gets what checks the chart into helm/tools/installed: helm, kubeconform and kube-score by Go's own client, the schemas of two
# versions of Kubernetes and of the custom resources that the chart may make out of their Go modules, and PyYAML from Debian.
# Root only where PyYAML is missing. GALEN_KUBE_TOOLS is another place than helm/tools/installed.
set -euo pipefail
cd "$(dirname "$0")"
into=${GALEN_KUBE_TOOLS:-$PWD/installed}
if ! command -v go >/dev/null; then
  echo "kube-tools: there is no go; install Go 1.26 or newer" >&2
  exit 1
fi
if ! python3 -c 'import yaml' 2>/dev/null; then
  run=()
  if [ "$(id -u)" -ne 0 ]; then run=(sudo -n); fi
  export DEBIAN_FRONTEND=noninteractive
  "${run[@]}" apt-get update -qq
  "${run[@]}" apt-get install -y -qq --no-install-recommends python3-yaml >/dev/null
fi
mkdir -p "$into/bin" "$into/schemas"
into=$(cd "$into" && pwd)
module() { go mod download -json "$1" | python3 -c 'import json, sys; print(json.load(sys.stdin)["Dir"])'; }
while read -r kind what; do
  case $kind in
    program)
      name=${what%@*}
      name=${name##*/}
      stamp=$into/bin/.$name
      [ "$(cat "$stamp" 2>/dev/null)" = "$what" ] && continue
      echo "kube-tools: $what"
      GOBIN=$into/bin CGO_ENABLED=0 GOFLAGS=-buildvcs=false nice -n 19 go install "$what"
      echo "$what" >"$stamp"
      ;;
    kubernetes)
      version=${what#*@}
      [ -e "$into/schemas/$version/.done" ] && continue
      echo "kube-tools: schemas of $what"
      python3 -B schemas.py kubernetes "$(module "$what")/api/openapi-spec/swagger.json" "$into/schemas/$version"
      touch "$into/schemas/$version/.done"
      ;;
    resources)
      folder=${what#* }
      what=${what%% *}
      stamp=$into/schemas/custom/.$(echo "$what" | tr / _)
      [ -e "$stamp" ] && continue
      echo "kube-tools: schemas of $what"
      python3 -B schemas.py resources "$(module "$what")/$folder" "$into/schemas/custom"
      mkdir -p "$into/definitions"
      cp "$(module "$what")/$folder"/*.yaml "$into/definitions/"
      touch "$stamp"
      ;;
  esac
done < <(grep -v '^#' versions.txt)
echo "kube-tools: all are installed"
