#!/usr/bin/env bash
# Makes every lock in this folder from the inputs beside it, with whatever uv, poetry, pdm, pipenv,
# pip and pip-compile stand on PATH and the indexes they are set up to use. Versions are in README.md.
set -euo pipefail
cd "$(dirname "$0")"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp --parents ./*.in ./*/pyproject.toml ./*/Pipfile "$work"
mkdir "$work/pylock"

# PDM keeps the requirements of the one wheel it has read and reuses them for every platform: only
# a lock from an empty cache shows what PDM makes of a project it has never seen.
export XDG_CACHE_HOME="$work/.cache"
export PDM_CHECK_UPDATE=0 POETRY_VIRTUALENVS_CREATE=false PIPENV_VENV_IN_PROJECT=1
export UV_PYTHON=3.11 UV_EXCLUDE_NEWER=2026-11-30T00:00:00Z

# compile COMMAND...: writes a file at the top of the folder.
compile() {
  (cd "$work" && "$@" --quiet)
}

# lock FOLDER COMMAND...: writes the lock of one project, whose pyproject.toml has its own date for uv.
lock() {
  (cd "$work/$1" && env -u UV_EXCLUDE_NEWER "${@:2}" >&2)
}

compile uv pip compile torch-2.0.in --python-platform x86_64-unknown-linux-gnu --python-version 3.11 -o torch-2.0.txt
compile uv pip compile sphinx-7.2.in --universal --python-version 3.11 --exclude-newer 2023-08-21T00:00:00Z -o sphinx-7.2.txt
compile pip-compile --no-strip-extras --output-file=markdown-it-py.txt markdown-it-py.in
compile pip-compile --generate-hashes --no-strip-extras --output-file=no-loop.txt no-loop.in
compile pip install --dry-run --ignore-installed --report pip-report.json -r pip-report.in

for folder in torch-2.0-uv sphinx-7.2-uv airflow-3 markdown-it-py large; do
  lock "$folder" uv lock
done
for folder in torch-2.0-poetry sphinx-7.2-poetry no-loop-poetry; do
  lock "$folder" poetry lock
done
lock torch-2.0-pdm pdm lock --exclude-newer 2026-11-30T00:00:00Z
lock sphinx-7.2-pdm pdm lock --exclude-newer 2023-08-21T00:00:00Z
lock sphinx-7.2-pipenv pipenv lock
lock sphinx-7.2-uv uv export --quiet --frozen --format pylock.toml -o ../pylock/pylock.toml

# No sample names a real host: the index and its file host, as the locks give them, become
# pypi.example and files.pypi.example. In pip's report, the homes and authors of projects become
# project.example, and their long descriptions and this machine's kernel become "".
outputs=("$work"/*.txt "$work"/*.json "$work"/*/*.lock "$work"/*/pylock.toml)
registry=$(sed -n '/registry = "/{s/.*registry = "\([^"]*\)".*/\1/p;q}' "$work/torch-2.0-uv/uv.lock")
files=$(sed -n '/url = "/{s#.*url = "\(https://[^/]*\)/.*#\1#p;q}' "$work/torch-2.0-uv/uv.lock")
perl -pi -e "
  s#\Q$registry\E#https://pypi.example/simple#g;
  s#\Q$files\E#https://files.pypi.example#g;
" "${outputs[@]}"
perl -pi -e '
  s#\w+://(?![\w.-]*\.example\b)[\w.-]+#https://project.example#g;
  s#[\w.+-]+@[\w-]+(\.[\w-]+)+#author\@project.example#g;
  s#("(?:description|platform_release|platform_version)": )"(?:[^"\\]|\\.)*"#$1""#;
' "$work/pip-report.json"

(cd "$work" && cp --parents ./*.txt ./*.json ./*/*.lock ./*/pylock.toml "$OLDPWD")
