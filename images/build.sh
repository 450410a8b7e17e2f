#!/usr/bin/env bash
# Builds galen-SERVICE:VERSION of every service. Variables:
#   BASE      Debian 12 base image; by default debian:12-slim from the registry; pin it with a digest. images/base.sh makes one.
#   PREBUILT  directory of programs built on Debian 12 (build/bin), instead of compiling them in the image
#   VERSION   tag of the images; by default the chart's appVersion
#   SERVICES  the services to build; default: all
#   JOBS      compilers at the same time (2)
#   DOCKER    a client with BuildKit (docker buildx, or Debian's docker.io)
# `build.sh check` reports whether it can build, without contacting a registry.
set -euo pipefail
cd "$(dirname "$0")/.."
docker=${DOCKER:-docker}
base=${BASE:-debian:12-slim}
version=${VERSION:-$(sed -n 's/^appVersion: "\(.*\)"/\1/p' helm/galen/Chart.yaml)}
services=${SERVICES:-orchestrator summarization planning execution reflection conclusion gateway watch advisor node toolbox}
epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
fail() { echo "images: $1" >&2; exit 1; }
"$docker" info >/dev/null 2>&1 || fail "no Docker engine answers; on Debian: apt-get install docker.io, then dockerd"
build=("$docker" build)
if "$docker" buildx version >/dev/null 2>&1; then
  build=("$docker" buildx build --load)
elif [ "$("$docker" version --format '{{.Client.Version}}' | cut -d. -f1)" -ge 23 ]; then
  fail "$docker has no BuildKit without its buildx; install that, or name Debian's client: DOCKER=/usr/bin/docker"
fi
export DOCKER_BUILDKIT=1
if [ "${1:-}" = check ]; then
  "$docker" image inspect "$base" >/dev/null 2>&1 || fail "there is no image $base; images/base.sh galen-base:bookworm makes one"
  exit 0
fi
context=$(mktemp -d)
trap 'rm -rf "$context"' EXIT
# Only files that git tracks, so that stray files do not get into an image.
if [ -n "${PREBUILT:-}" ]; then
  git ls-files -z knowledge images common/cmake/install_packages.sh common/cmake/packages
else
  git ls-files -z
fi | tar --null -T - -c | tar -C "$context" -x
mkdir -p "$context/prebuilt"
if [ -n "${PREBUILT:-}" ]; then cp "$PREBUILT"/galen "$PREBUILT"/galen-* "$context/prebuilt/"; fi
programs=compile
if [ -n "${PREBUILT:-}" ]; then programs=prebuilt; fi
for service in $services; do
  "${build[@]}" --quiet --target "$service" --build-arg "BASE=$base" --build-arg "PROGRAMS=$programs" \
    --build-arg "SOURCE_DATE_EPOCH=$epoch" --build-arg "JOBS=${JOBS:-2}" --tag "galen-$service:building" -f "$context/images/Dockerfile" "$context" >/dev/null
  "$docker" save "galen-$service:building" | python3 -B images/finish.py "galen-$service:$version" "$epoch" | "$docker" load --quiet >/dev/null
  "$docker" rmi --no-prune "galen-$service:building" >/dev/null
  echo "images: $("$docker" image inspect --format '{{index .RepoTags 0}} {{.Id}} {{.Size}} bytes' "galen-$service:$version")"
done
