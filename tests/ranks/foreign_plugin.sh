#!/bin/sh
# A program that is started by its name alone loads no transport from the folder in which it is started, nor from
# a folder that SHUNT_PLUGINS names relatively, nor, where it has more rights than its caller, from any that its
# caller names.
#
#   foreign_plugin.sh PROGRAM PLUGIN    a job's program, linked statically; a shared object that must not be loaded
set -u
program=$1 plugin=$2
passed=0 failed=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
mkdir -p "$work/bin" "$work/here/shunt" "$work/here/lib/shunt"
cp "$program" "$work/bin/job"
for folder in here here/shunt here/lib here/lib/shunt; do
  for mpi in openmpi mpich; do cp "$plugin" "$work/$folder/libshunt_mpi_$mpi.so"; done
done
cd "$work/here" || exit 1

# job WHAT WANTED WORD...: what it says has WANTED, and no foreign code has run.
job() {
  what=$1 wanted=$2
  shift 2
  said=$(env PATH="$work/bin:$PATH" OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 "$@" 2>&1 </dev/null)
  case $said in
  *'foreign code runs'*) echo "FAIL $what: foreign code was loaded" ;;
  *$wanted*) passed=$((passed + 1)); return ;;
  *) echo "FAIL $what: it says: $said" ;;
  esac
  failed=$((failed + 1))
}

# The program has no transport of its own here, and says where it has looked.
job 'started by its name' 'Looked for' job --pes 2 --transport mpi
job 'a relative folder' 'is relative' SHUNT_PLUGINS=shunt job --pes 2 --transport mpi
job 'a relative folder among others' 'is relative' SHUNT_PLUGINS=/nowhere:lib/shunt job --pes 2 --transport mpi
job 'libraries of the current folder' 'Looked for' LD_LIBRARY_PATH=: job --pes 2 --transport mpi
# The test can see it: an absolute folder is the user's choice.
what='an absolute folder'
if env SHUNT_PLUGINS="$work/here" OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 \
  "$work/bin/job" --pes 2 --transport mpi 2>&1 </dev/null |
  grep -q 'foreign code runs'; then
  passed=$((passed + 1))
else
  echo "FAIL $what: was not loaded"
  failed=$((failed + 1))
fi

# Set-user-ID: only root can make such a program, and only where the file system honours it.
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
  chmod 4755 "$work/bin/job"
  chmod -R a+rX "$work"
  if setpriv --reuid 65534 --clear-groups -- "$work/bin/job" --help >/dev/null 2>&1 || [ $? -ne 126 ]; then
    job 'a folder of its caller, in a program with more rights' 'Looked for' \
      setpriv --reuid 65534 --clear-groups -- env SHUNT_PLUGINS="$work/here" "$work/bin/job" --pes 2 --transport mpi
  fi
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
