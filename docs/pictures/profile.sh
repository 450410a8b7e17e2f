#!/bin/sh
# The picture of docs/profiles.md, from two traces of ../shared/fixtures: docs/pictures/profile.sh build/bin/galen
set -eu
cd "$(dirname "$0")/../.."
traces=../shared/fixtures/pytorch-trace
"$1" profile $traces/distributed-sampled-rank0.json.gz $traces/distributed-sampled-rank1.json.gz --svg docs/pictures/profile.svg
