#!/bin/sh
# The pictures of docs/perfmodel.md: docs/pictures/perfmodel.sh build/bin/galen
set -eu
cd "$(dirname "$0")/../.."
"$1" model explain --job docs/pictures/perfmodel-job.yaml --knowledge knowledge \
  --roofline docs/pictures/perfmodel-roofline.svg --mix docs/pictures/perfmodel-mix.svg
