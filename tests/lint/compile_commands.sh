#!/usr/bin/env bash
# Writes build/dev/compile_commands.json, a command for each source file, and the headers that the commands need.
set -euo pipefail
cmake --preset dev --log-level=WARNING >/dev/null
ninja -C build/dev --quiet proto_headers
echo "build/dev/compile_commands.json has $(grep -c '"file"' build/dev/compile_commands.json) commands"
