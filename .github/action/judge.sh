#!/usr/bin/env bash
# Judges what the action's inputs name. They come by environment variables and never become part of
# a script's text, so that a branch or a file with an odd name is a name and nothing else.
set -euo pipefail

words=(audit)
if [[ -n ${DISTCYCLE_SINCE:-} ]]; then words=(diff --since "$DISTCYCLE_SINCE"); fi

# Adds the lines of a text, each after a flag where one is given; lines without text are none.
add() {
  local line
  while IFS= read -r line; do
    line=${line%$'\r'}
    if [[ -n ${line//[[:space:]]/} ]]; then words+=(${1:+"$1"} "$line"); fi
  done <<<"$2"
}

add --platform "${DISTCYCLE_PLATFORMS:-}"
add --policy "${DISTCYCLE_POLICY:-}"
add --baseline "${DISTCYCLE_BASELINE:-}"
report=$RUNNER_TEMP/distcycle.json
sarif=$RUNNER_TEMP/distcycle.sarif
rm -f "$report" "$sarif"
words+=(--format text --format github --format "json:$report" --format "sarif:$sarif" --)
add "" "${DISTCYCLE_PATHS:-}"

code=0
distcycle "${words[@]}" || code=$?
case $code in
  0) verdict=passed ;;
  1) verdict=failed ;;
  *) verdict=error ;;
esac
if [[ ! -f $report ]]; then report=; fi
if [[ ! -f $sarif ]]; then sarif=; fi
printf '%s\n' "verdict=$verdict" "report=$report" "sarif=$sarif" >>"$GITHUB_OUTPUT"
exit "$code"
