#!/usr/bin/env bash
# tools/abi.sh sees what breaks programs, and nothing else: small libraries against one another.
#
#   abi_script.sh SOURCES COMPILER
set -euo pipefail
script=$1/tools/abi.sh compiler=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
passed=0 failed=0

# library NAME SONAME CODE
library() {
  printf '%s\n' "$3" >"$folder/$1.cpp"
  $compiler -g -w -shared -fPIC -Wl,-soname,"$2" -o "$folder/$1.so" "$folder/$1.cpp"
}

# expect STATUS TEXT OLD NEW
expect() {
  local out status=0
  out=$("$script" "$folder/$3.so" "$folder/$4.so" 2>&1) || status=$?
  if ((status == $1)) && [[ $out == *"$2"* ]]; then
    passed=$((passed + 1))
  else
    printf '%s against %s: status %s, not %s with "%s"\n%s\n' "$4" "$3" "$status" "$1" "$2" "$out"
    failed=$((failed + 1))
  fi
}

library old lib.so.1 'struct part { int a; }; int size(part& p) { return p.a; } int other() { return 1; }'
library same lib.so.1 'struct part { int a; }; int size(part& p) { return p.a + 1; } int other() { return 2; }'
library more lib.so.1 'struct part { int a; }; int size(part& p) { return p.a; } int other() { return 1; } int c() {}'
library fewer lib.so.1 'struct part { int a; }; int size(part& p) { return p.a; }'
library larger lib.so.1 'struct part { long b; int a; }; int size(part& p) { return p.a; } int other() { return 1; }'
library next lib.so.2 'struct part { int a; }; int size(part& p) { return p.a; }'
expect 0 '1 passed, 0 failed' old same
expect 0 '1 passed, 0 failed' old more
expect 1 'raise the minor version' old fewer
expect 1 'raise the minor version' old larger
expect 0 'linked anew' old next
echo "$passed passed, $failed failed"
((failed == 0))
