#!/usr/bin/env bash
# Compiles, links and runs every C++ block with a main function that stands in a document; each must end by itself with
# status 0.
#
#   documents.sh COMPILER INCLUDES [LIBRARY...] -- FILE...
#
# tools/snippets.py finds the blocks.
set -euo pipefail
compiler=$1 includes=$2
shift 2
libraries=()
while [[ $1 != -- ]]; do
  if [[ -n $1 ]]; then libraries+=("$1"); fi
  if [[ $1 == /*.so ]]; then libraries+=("-Wl,-rpath,${1%/*}"); fi
  shift
done
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 "$(dirname -- "$0")/../tools/snippets.py" --pages "$folder" "$@"

# try FILE: leaves FILE.failed behind if it is not good.
try() {
  local program=${1%.cpp} page
  page=$(sed -n '1s/^#line \([0-9]*\) "\(.*\)"$/\2:\1/p' "$1")
  if ! "$compiler" -std=c++20 -Wall -Wextra -Werror -I"$includes" -pthread "$1" "${libraries[@]}" -o "$program" \
    >"$program.log" 2>&1; then
    echo "$page: does not compile" >"$1.failed"
  elif ! (cd "$folder" && timeout 300 "$program") </dev/null >"$program.log" 2>&1; then
    echo "$page: does not end with status 0 within five minutes" >"$1.failed"
  else
    return 0
  fi
  cat "$program.log" >>"$1.failed"
}

count=0
for source in "$folder"/*.cpp; do
  [[ -e $source ]] || break
  count=$((count + 1))
  while (($(jobs -rp | wc -l) >= 2)); do wait -n || true; done  # both may have ended just now
  try "$source" &
done
wait
failed=0
for report in "$folder"/*.failed; do
  [[ -e $report ]] || break
  failed=$((failed + 1))
  cat "$report"
done
echo "$count programs, $failed of them failed"
((count > 0 && failed == 0))
