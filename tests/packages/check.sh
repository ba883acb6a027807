#!/usr/bin/env bash
# check.sh SOURCE BUILD CMAKE CPACK GENERATOR COMPILER COMPONENT...
# Packs the build that is under test, installs the packages below a folder as dpkg would below /, builds and runs a
# program with them in each way a user may choose, and removes them.
set -euo pipefail
source=$1 build=$2 cmake=$3 cpack=$4 compiler=$6
components=("${@:7}")
export CMAKE_GENERATOR=$5
consumer=$source/tests/install/consumer
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
root=$folder/root
mkdir -p "$root"

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
has_component() { [[ " ${components[*]} " == *" $1 "* ]]; }

# The folder first: cpack's own would lie in the build. The address is one that lintian takes.
step "cpack" "$cpack" -G DEB --config "$build/CPackConfig.cmake" -B "$folder/packed" \
  -D CPACK_PACKAGE_CONTACT="Package Test <test@debian.org>"
packages=("$folder"/packed/*.deb)
echo "        ${packages[*]##*/}"
as_many_as_components() { [[ ${#packages[@]} -eq ${#components[@]} ]]; }
step "a package for each component" as_many_as_components

fields() {
  local package
  for package in "${packages[@]}"; do
    [[ $(dpkg-deb -f "$package" Source) == shunt ]]
    dpkg-deb -f "$package" Description | sed -n '1s/\.$/&&/p' | must_fail grep . # a synopsis is no sentence
    [[ $(dpkg-deb -f "$package" Depends) == *libc6* ]]
  done
}
step "fields" fields

# Another root: what the packages depend on is installed below / alone. As root dpkg would chroot for scripts; there are
# none.
in_root() {
  dpkg --root="$root" --force-depends --force-not-root --force-script-chrootless --log=/dev/null "$@"
}
mkdir -p "$root"/var/lib/dpkg/{info,updates,triggers}
touch "$root"/var/lib/dpkg/{status,available}
step "dpkg --install" in_root --install "${packages[@]}"
documented() {
  local package
  for package in "${packages[@]}"; do
    package=$(dpkg-deb -f "$package" Package)
    test -s "$root/usr/share/doc/$package/copyright" -a -s "$root/usr/share/doc/$package/changelog.Debian.gz"
  done
}
step "copyright and changelogs" documented

libraries=$(dirname "$(find "$root/usr/lib" -name 'libshunt.*' -print -quit)")
export LD_LIBRARY_PATH=$libraries SHUNT_PLUGINS=$libraries/shunt
says_right() { "$@" | grep -x 'consumer: right'; }
found() {
  "$cmake" -S "$consumer" -B "$folder/$1" -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Release "${@:2}"
}
step "find_package: configure" found found -DCMAKE_PREFIX_PATH="$root/usr"
step "find_package: build" "$cmake" --build "$folder/found"
step "find_package: run" says_right "$folder/found/consumer" --pes 3
step "FetchContent: configure" found fetched -DCMAKE_PREFIX_PATH="$root/usr" -DFETCH=ON
step "FetchContent: build" "$cmake" --build "$folder/fetched"
step "FetchContent: run" says_right "$folder/fetched/consumer" --pes 3
if command -v pkg-config >/dev/null; then
  pc() { PKG_CONFIG_PATH=$libraries/pkgconfig pkg-config "$@"; }
  # shellcheck disable=SC2046  # flags are words
  step "pkg-config: build" \
    "$compiler" -O2 "$consumer/main.cpp" $(pc --static --cflags --libs shunt) -o "$folder/with_pc"
  step "pkg-config: run" says_right "$folder/with_pc" --pes 3
fi
if has_component tools; then
  right_count() { "$root/usr/bin/shunt" run triangle --scale 8 --check "$@"; }
  step "the command: run triangle" right_count
  pages() {
    test -s "$root/usr/share/man/man1/shunt.1.gz" -a -s "$root/usr/share/bash-completion/completions/shunt" \
      -a -s "$root/usr/share/zsh/vendor-completions/_shunt"
  }
  step "manual page and completions" pages
  # As bash finds it, and as a user meets it.
  completes() {
    bash -euc 'source "$1"; COMP_WORDS=(shunt run tri); COMP_CWORD=2; _shunt shunt tri run
      [[ " ${COMPREPLY[*]} " == *" triangle "* ]]' - "$root/usr/share/bash-completion/completions/shunt"
  }
  step "bash completes an application" completes
fi
if has_component mpi && has_component tools; then
  step "the command: two ranks" right_count --transport mpi --ranks 2
fi

if has_component translate; then
  printf '#include <shunt/pgas.hpp>\nvoid f(shunt::pgas::actor_of<long>& a, long* p) { a.send(0, [p](long&) {}); }\n' \
    >"$folder/mistake.cpp"
  finds_it() {
    local said
    said=$("$root/usr/bin/shunt-translate" check "$folder/mistake.cpp" 2>&1) || true  # status 1: it has found one
    grep 'mistake.cpp:2:.*pointer' <<<"$said"
  }
  step "shunt-translate finds a mistake, by the installed headers" finds_it
fi

if command -v lintian >/dev/null; then
  # A library of a build that does not share it has no package of its own, so nothing to say about sonames.
  step "lintian" lintian --fail-on error "${packages[@]}"
else
  echo "skipped lintian: not installed"
fi

mapfile -t names < <(for package in "${packages[@]}"; do dpkg-deb -f "$package" Package; done)
step "dpkg --purge" in_root --purge "${names[@]}"
left() { find "$root" -not -type d -not -path '*/var/lib/dpkg/*' | grep .; }
step "nothing is left" must_fail left
