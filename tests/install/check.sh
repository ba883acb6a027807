#!/usr/bin/env bash
# check.sh SOURCE BUILD CMAKE GENERATOR COMPILER MPIS
# Installs the build that is under test, and builds and runs a small program with it in each way a user may choose.
set -euo pipefail
source=$1 build=$2 cmake=$3 compiler=$5 mpis=$6
export CMAKE_GENERATOR=$4
here=$source/tests/install
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
prefix=$folder/prefix

# step NAME COMMAND...: quiet unless it fails.
step() {
  local name=$1
  shift
  if "$@" >"$folder/log" 2>&1; then echo "ok      $name"; else
    cat "$folder/log"
    echo "FAILED  $name"
    exit 1
  fi
}
must_fail() { ! "$@"; }
says_right() { "$@" | grep -x 'consumer: right'; }
consumer() { "$cmake" -S "$here/consumer" -B "$folder/$1" -DCMAKE_CXX_COMPILER="$compiler" "${@:2}"; }

step "install" "$cmake" --install "$build" --prefix "$folder/first"
mv "$folder/first" "$prefix" # an install tree may be moved

tests_inside() { find "$prefix" -name '*.test.*' -o -path '*/transport/mpi*' -o -name '*.cpp' | grep .; }
step "no tests or sources among the headers" must_fail tests_inside

# Private headers are installed only if public ones need them: the compiler opens all of them for the public headers.
include=$(find "$prefix" -path '*/include/shunt/base.hpp')
include=${include%/shunt/base.hpp}
installed() { (cd "$include" && find shunt -name '*.hpp' -o -name '*.h' | sort); }
opened() { # by the compiler, for all public headers together
  installed | grep -v /detail/ | sed 's/.*/#include <&>/' >"$folder/public.cpp"
  "$compiler" -std=c++20 -I"$include" -MM "$folder/public.cpp" | tr -s ' \\' '\n\n' | sed -n "s,^$include/,,p" | sort -u
}
no_needless_headers() { opened >"$folder/opened" && diff "$folder/opened" <(installed) && test -s "$folder/opened"; }
step "no header that no public header needs" no_needless_headers

# Together: that each compiles alone is the test `headers`, on the same files.
all_compile() { "$compiler" -std=c++20 -fsyntax-only -I"$include" "$folder/public.cpp"; }
step "the installed headers compile" all_compile

step "commands for gdb" test -f "$prefix/share/shunt/gdb/shunt.py"

step "find_package: configure" consumer found -DCMAKE_PREFIX_PATH="$prefix"
warned() {
  "$@" 2>&1 | tr -s '\n ' ' ' | grep 'CMAKE_BUILD_TYPE is not set: .*compiled without optimisation' >/dev/null
}
step "find_package: without a build type it warns" warned consumer found -DCMAKE_PREFIX_PATH="$prefix"
step "find_package: with one it does not" \
  must_fail warned consumer typed -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release
step "find_package: build" "$cmake" --build "$folder/found"
step "find_package: run" says_right "$folder/found/consumer" --pes 3
if [[ -n $mpis ]]; then
  step "find_package: component mpi" consumer mpi -DCMAKE_PREFIX_PATH="$prefix" -DCOMPONENTS=mpi
fi
step "find_package: an unknown component is refused" \
  must_fail consumer none -DCMAKE_PREFIX_PATH="$prefix" -DCOMPONENTS=nonsense

if command -v pkg-config >/dev/null; then
  pc() { PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name shunt.pc)") pkg-config "$@"; }
  if grep -q '^SHUNT_STACK_CLASH_PROTECTION:INTERNAL=1' "$build/CMakeCache.txt"; then
    probed() {
      pc --cflags shunt | grep -e -fstack-clash-protection &&
        grep -r -e -fstack-clash-protection "$prefix" --include=shuntTargets.cmake
    }
    step "programs' large frames are probed" probed
  fi
  # shellcheck disable=SC2046  # flags are words
  step "pkg-config: build" \
    "$compiler" "$here/consumer/main.cpp" $(pc --static --cflags --libs shunt) -o "$folder/with_pc"
  LD_LIBRARY_PATH=$(pc --variable=libdir shunt) step "pkg-config: run" says_right "$folder/with_pc" --pes 3
else
  echo "skipped pkg-config: not installed"
fi

# With the library shared, so that both kinds are tried.
step "add_subdirectory: without a build type it warns" \
  warned consumer inside -DSHUNT_FOLDER="$source" -DBUILD_SHARED_LIBS=ON
step "add_subdirectory, shared: configure" consumer inside -DSHUNT_FOLDER="$source" -DBUILD_SHARED_LIBS=ON
step "add_subdirectory, shared: build" "$cmake" --build "$folder/inside" --parallel "$(nproc)"
step "add_subdirectory, shared: run" says_right "$folder/inside/consumer" --pes 3
