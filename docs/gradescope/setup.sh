#!/usr/bin/env bash
# Gradescope runs this once, while it builds the image.
set -euo pipefail
cd "${AUTOGRADER:-/autograder}/source"
if ! command -v python3 >/dev/null; then
    apt-get update && apt-get install -y --no-install-recommends python3 python3-venv
fi
python3 -m venv "${AUTOGRADER:-/autograder}/venv"
# All submissions are tried with the same inputs; a file `seed` in the zip keeps them after a change.
[ -f seed ] || python3 -c 'import secrets; print(secrets.randbits(53))' >seed
"${AUTOGRADER:-/autograder}/venv/bin/python" -m pip install --quiet -c constraints.txt .
