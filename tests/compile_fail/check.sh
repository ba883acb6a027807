#!/usr/bin/env bash
# check.sh SOURCE COMPILER FLAG...
# A line `// expect: REGEX` in the source names what the compiler must say. The first five lines that the
# compiler prints must be those of first_lines/NAME.gcc or .clang (gcc 12 and clang 19; the places in the library's
# headers, and the numbers of lines that are shown, are left out). WRITE=1 writes the file.
set -euo pipefail
source=$1
shift
expected=$(sed -n 's|^// expect: ||p' "$source")
[[ -n $expected ]] || { echo "$source names no reason (// expect: REGEX)"; exit 1; }
if ! said=$("$@" -fsyntax-only "$source" 2>&1); then
  printf '%s\nshould compile without MUST_NOT_COMPILE\n' "$said"
  exit 1
fi
root=$(cd "$(dirname -- "$source")/../.." && pwd)
if said=$(cd "$root" && LC_ALL=C.UTF-8 "$@" -DMUST_NOT_COMPILE -fsyntax-only "$source" 2>&1); then
  echo "compiles, and must not"
  exit 1
fi
if ! grep -Eq -- "$expected" <<<"$said"; then
  printf '%s\nfails, but does not say: %s\n' "$said" "$expected"
  exit 1
fi

name=$(dirname -- "$source")/first_lines/$(basename -- "$source" .cpp)
version=$("$1" -dM -E -x c++ /dev/null | awk '$2 == "__clang_major__" || ($2 == "__GNUC__" && !v) { v = $3 }
  $2 == "__clang_major__" { clang = 1; v = $3 } END { print (clang ? "clang" : "gcc"), v }')
case $version in
  "gcc 12") golden=$name.gcc ;;
  "clang 19") golden=$name.clang ;;
  *) exit 0 ;;  # other versions say it in other words
esac
# One command, and to the end: one that stops reading ends the writer before it in a pipe, and so this script.
first=$(sed -nE -e "s|$root/||g; s#(src/[a-z_/]+\.hpp):[0-9]+(:[0-9]+)?#\1#g; s/auto:[0-9]+/auto/g" \
  -e 's/^ +[0-9]+ \|/      |/; 1,5p' <<<"$said")
if [[ ${WRITE:-} ]]; then
  printf '%s\n' "$first" >"$golden"
else
  diff "$golden" - <<<"$first" || { echo "the first five lines are others than in $golden"; exit 1; }
fi
