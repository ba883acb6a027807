#!/usr/bin/env bash
# check.sh SOURCE COMPILER FLAG...
# A line `// expect: REGEX` in the source names what the compiler must say.
set -euo pipefail
source=$1
shift
expected=$(sed -n 's|^// expect: ||p' "$source")
[[ -n $expected ]] || { echo "$source names no reason (// expect: REGEX)"; exit 1; }
if ! said=$("$@" -fsyntax-only "$source" 2>&1); then
  printf '%s\nshould compile without MUST_NOT_COMPILE\n' "$said"
  exit 1
fi
if said=$("$@" -DMUST_NOT_COMPILE -fsyntax-only "$source" 2>&1); then
  echo "compiles, and must not"
  exit 1
fi
if ! grep -Eq -- "$expected" <<<"$said"; then
  printf '%s\nfails, but does not say: %s\n' "$said" "$expected"
  exit 1
fi
