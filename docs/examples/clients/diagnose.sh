#!/usr/bin/env bash
# diagnose.sh DESCRIPTION: has Galen diagnose an incident over HTTP, with curl alone, and prints the outcome.
# GALEN_API (http://127.0.0.1:8080), GALEN_KEY (of `galen keys create`), GALEN_TENANT (default).
set -euo pipefail
api=${GALEN_API:-http://127.0.0.1:8080}/v1
key=${GALEN_KEY:?is not set: make one with galen keys create}
tenant=${GALEN_TENANT:-default}
ask=(curl --silent --show-error --fail-with-body -H "Authorization: Bearer $key" -H 'Content-Type: application/json')

# JSON text of the description, without a JSON tool: backslashes, quotes and line ends are all there is to escape.
description=${1:?say what happened}
description=${description//\\/\\\\}
description=${description//\"/\\\"}
description=${description//$'\n'/\\n}

created=$("${ask[@]}" "$api/tenants/$tenant/diagnoses?fields=name" -d "{\"incident\": {\"description\": \"$description\"}}")
name=$(sed -n 's/.*"name":"\([^"]*\)".*/\1/p' <<<"$created")
echo "$name"

# Each event as it comes, until the diagnosis is over or awaits feedback.
"${ask[@]}" --no-buffer "$api/$name:watch" | sed -un 's/^data: {"sequence":"\([0-9]*\)","eventTime":"[^"]*","\([A-Za-z]*\)".*/\1 \2/p'

"${ask[@]}" "$api/$name?fields=state,report.headline,report.nextSteps"
