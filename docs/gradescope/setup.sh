#!/usr/bin/env bash
# Gradescope runs this once, while it builds the image.
set -euo pipefail
cd "${AUTOGRADER:-/autograder}/source"
if [ ! -f takehome.toml ]; then
    echo "there is no takehome.toml in the zip; run \`grade pack\` first, then zip again" >&2
    exit 1
fi
if ! command -v python3 >/dev/null; then
    apt-get update && apt-get install -y --no-install-recommends python3 python3-venv
fi
python3 -m venv "${AUTOGRADER:-/autograder}/venv"
"${AUTOGRADER:-/autograder}/venv/bin/python" -m pip install --quiet -c constraints.txt .
