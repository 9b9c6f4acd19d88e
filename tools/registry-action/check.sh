#!/usr/bin/env bash
# Check the records of the deployments registry that differ between the commit BASE and the present one.
# FOLDER holds the records. The summary goes to the file GITHUB_STEP_SUMMARY, if it is set. Exit code: the largest
# of `dpproof check deployments`. It is 1 if a record breaks a rule of the registry. A verdict on a number is no error.
set -euo pipefail
summary=${GITHUB_STEP_SUMMARY:-/dev/null}
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
changes=$(mktemp -p "$folder")
git diff -z --name-only --diff-filter=d "$BASE...HEAD" -- "$FOLDER/*.yaml" > "$changes"
mapfile -d '' -t records < "$changes"
if [ ${#records[@]} -eq 0 ]; then
  echo "No record of the registry was changed." | tee -a "$summary"
  exit 0
fi
worst=0
for record in "${records[@]}"; do
  code=0
  echo "$record"
  dpproof check deployments "$record" --verbose --markdown "$folder/part.md" || code=$?
  if [ -f "$folder/part.md" ]; then
    { echo "## \`${record//\`/}\`"; echo; cat "$folder/part.md"; echo; } >> "$summary"
    rm "$folder/part.md"
  fi
  if [ "$code" -gt "$worst" ]; then worst=$code; fi
done
exit "$worst"
