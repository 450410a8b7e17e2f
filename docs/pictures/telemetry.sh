#!/usr/bin/env bash
# Draws docs/pictures/telemetry.svg: a made-up job of 24 machines of which four retransmit, as a diagnosis shows it. Wants a build.
#   docs/pictures/telemetry.sh [BUILD]
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${1:-build}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$build/tests/scenario_maker" "$folder/scene" --study retransmits --seed 1 --format bundle
"$build/bin/galen" diagnose --bundle "$folder/scene/bundle" --svg docs/pictures/telemetry.svg >/dev/null
