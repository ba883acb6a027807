#!/usr/bin/env bash
# Compiles every C++ block with a main function that stands in a document:   documents.sh COMPILER INCLUDES FILE...
# tools/snippets.py finds the blocks.
set -euo pipefail
compiler=$1 includes=$2
shift 2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 "$(dirname -- "$0")/../tools/snippets.py" --pages "$folder" "$@"
count=0 failed=0
for source in "$folder"/*.cpp; do
  [[ -e $source ]] || break
  count=$((count + 1))
  "$compiler" -std=c++20 -Wall -Wextra -Werror -I"$includes" -pthread -fsyntax-only "$source" || failed=$((failed + 1))
done
echo "$count examples, $failed do not compile"
((failed == 0))
