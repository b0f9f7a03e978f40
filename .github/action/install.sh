#!/usr/bin/env bash
# Installs the action's own distcycle beside whatever the job has, and puts it on the job's path.
set -euo pipefail

for python in python3 python; do
  if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then break; fi
  python=
done
if [[ -z $python ]]; then
  echo "::error title=distcycle::needs Python 3.10 or newer; use actions/setup-python before"
  exit 2
fi

environment=$RUNNER_TEMP/distcycle
"$python" -m venv "$environment"
scripts=$environment/bin
if [[ -d $environment/Scripts ]]; then scripts=$environment/Scripts; fi
"$scripts/python" -m pip install --quiet --disable-pip-version-check "$GITHUB_ACTION_PATH"
# Only the command itself: the environment's python and pip must not hide the job's.
mkdir -p "$environment/path"
cp "$scripts"/distcycle* "$environment/path"
echo "$environment/path" >>"$GITHUB_PATH"
