#!/usr/bin/env bash
# Whether programs that were linked with the last release run with today's library: abidiff (Debian: abigail-tools)
# holds the two against each other. What a release adds is no difference. Another SONAME is another library: then
# programs are linked anew, and nothing is compared.
#
#   tools/abi.sh                      the tree against its last tag v*; builds both in build/abi
#   tools/abi.sh OLD.so NEW.so        two libraries with debugging information
#
# The last line is `N passed, M failed`. Ends with 0, 1 (a difference), or 2 (nothing could be compared).
set -euo pipefail
cd "$(dirname -- "$(readlink -f -- "$0")")/.."

soname() { readelf -d "$1" | sed -n 's/.*(SONAME).*\[\(.*\)\]$/\1/p'; }

# compare OLD NEW
compare() {
  local before after status=0
  before=$(soname "$1") after=$(soname "$2")
  if [[ $before != "$after" ]]; then
    echo "abi: $before has become $after: programs are linked anew, and nothing is compared"
    echo "0 passed, 0 failed"
    return
  fi
  abidiff --no-added-syms "$1" "$2" || status=$?
  if ((status & 3)); then
    echo "abi: abidiff could not compare $1 and $2"
    return 2
  fi
  if ((status == 0)); then echo "1 passed, 0 failed"; return; fi
  echo "abi: programs that were linked with the last release's $before may fail with this one. Undo what is listed" \
    "above, or raise the minor version in CMakeLists.txt, with which the SONAME changes"
  echo "0 passed, 1 failed"
  return 1
}

# build SOURCES FOLDER: the shared library alone.
build() {
  cmake -S "$1" -B "$2" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS=-g -DBUILD_SHARED_LIBS=ON \
    -DSHUNT_TESTS=OFF -DSHUNT_BENCH=OFF >"$2.log" 2>&1 &&
    cmake --build "$2" --target shunt >>"$2.log" 2>&1 || { tail -n 20 "$2.log"; return 2; }
}

if ! command -v abidiff >/dev/null; then
  echo "abi: there is no abidiff (Debian: abigail-tools)"
  exit 2
fi
if (($# == 2)); then
  compare "$1" "$2"
  exit
fi
if ! tag=$(git describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null); then
  echo "abi: there is no release yet, a tag v*, to compare with"
  echo "0 passed, 0 failed"
  exit
fi
mkdir -p build/abi
rm -rf build/abi/sources
git -c advice.detachedHead=false clone --quiet --shared --branch "$tag" . build/abi/sources
build build/abi/sources build/abi/release
build . build/abi/today
echo "abi: against $tag"
compare build/abi/release/libshunt.so build/abi/today/libshunt.so
