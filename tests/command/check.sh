#!/usr/bin/env bash
# check.sh PROGRAM SCRIPT MPIS: what a user reads, and what a script sees, of every command that goes right or wrong.
set -uo pipefail
shunt=$(readlink -f "$1") script=$(readlink -f "$2") mpis=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
passed=0 failed=0

wrong() {
  failed=$((failed + 1))
  printf 'FAILED  %s\n        %s\n' "$name" "$1"
  sed 's/^/        stderr: /' err | head -n 5
  sed 's/^/        stdout: /' out | head -n 5
}

# bad REGEX COMMAND...: status 2, nothing on stdout, and one line on stderr that matches.
bad() {
  local expected=$1 status
  shift
  name="${*/#$shunt/shunt}"
  "$@" >out 2>err </dev/null
  status=$?
  if ((status != 2)); then wrong "status $status, expected 2"
  elif (($(wc -l <err) != 1)); then wrong "$(wc -l <err) lines on stderr, expected 1"
  elif ! grep -Eq -- "$expected" err; then wrong "does not say: $expected"
  elif [[ -s out ]]; then wrong "writes to stdout"
  else passed=$((passed + 1)); fi
}

# good REGEX COMMAND...: status 0, stdout matches, nothing on stderr.
good() {
  local expected=$1 status
  shift
  name="${*/#$shunt/shunt}"
  "$@" >out 2>err </dev/null
  status=$?
  if ((status != 0)); then wrong "status $status, expected 0"
  elif ! grep -Eq -- "$expected" out; then wrong "does not say: $expected"
  elif [[ -s err ]]; then wrong "writes to stderr"
  else passed=$((passed + 1)); fi
}

good 'run APP' "$shunt" --help
good 'run APP' "$shunt" help
good '^shunt [0-9]+\.[0-9]+' "$shunt" --version
good '^triangle ' "$shunt" apps
good '--ranks' "$shunt" run --help
good '^workers ' "$shunt" doctor
good '^input/output +epoll; files by (io_uring|helpers)' "$shunt" doctor
bad 'which command' "$shunt"
bad 'unknown command .dokter.; near: doctor' "$shunt" dokter
bad 'unexpected' "$shunt" doctor --yaml
bad 'which application' "$shunt" run
bad 'unknown application .triangel.; near: triangle' "$shunt" run triangel
bad 'unknown application .xyzzy.; known: .*histogram' "$shunt" run xyzzy

declare -A small=(
  [histogram]='--updates 1000'
  [index_gather]='--reads 1000'
  [triangle]='--generate kronecker --scale 6'
)
for app in histogram index_gather triangle; do
  good '--pes' "$shunt" run "$app" --help
  bad '--pes.*0' "$shunt" run "$app" --pes 0
  bad 'banana' "$shunt" run "$app" --pes banana
  bad '--no-such-option' "$shunt" run "$app" --no-such-option
  bad 'transport.*carrier-pigeon|carrier-pigeon.*transport' "$shunt" run "$app" --transport carrier-pigeon
  bad '--ranks needs --transport mpi' "$shunt" run "$app" --ranks 2
  # shellcheck disable=SC2086  # options are words
  good '^pes +3' "$shunt" run "$app" --pes 3 ${small[$app]}
  # shellcheck disable=SC2086
  bad 'no/such/folder' "$shunt" run "$app" --pes 2 ${small[$app]} --output no/such/folder/out.txt
done
good '--hung-up' "$shunt" run daq --help
good '^checked +every frame' "$shunt" run daq --channels 20 --frames 10 --hung-up 2 --garbled 1
good '"frames":200,.*"checked":true' "$shunt" run daq --channels 20 --frames 10 --over pipe --json
good 'channel 0: hung up at frame' "$shunt" run daq --channels 20 --frames 10 --over tcp --hung-up 1
bad '--channels.*0' "$shunt" run daq --channels 0
bad 'banana' "$shunt" run daq --over banana
bad 'daq runs in one process; leave SHUNT_TRANSPORT=mpi out' env SHUNT_TRANSPORT=mpi "$shunt" run daq
good '--hung-up' env SHUNT_TRANSPORT=mpi "$shunt" run daq --help
bad '--frames.*--seconds|--seconds.*--frames' "$shunt" run daq --frames 1 --seconds 1
bad '--stalled 2, .* more than the 3 channels' "$shunt" run daq --channels 3 --stalled 2 --hung-up 2
bad '1000000 channels need .* open files' prlimit --nofile=200:200 "$shunt" run daq --channels 1000000
good '^graph +generated: kronecker' "$shunt" run triangle --pes 2 --scale 6
bad 'no-such-graph' "$shunt" run triangle --pes 2 --graph no-such-graph.txt
bad 'SHUNT_PESS.*SHUNT_PES' env SHUNT_PESS=3 "$shunt" run histogram

if [[ -n $mpis ]]; then
  # Said once, before any process is started.
  bad '--ranks' "$shunt" run histogram --transport mpi --ranks 0
  bad 'banana' "$shunt" run histogram --transport mpi --pes banana
  bad '--no-such-option' "$shunt" run histogram --transport mpi --no-such-option
  good '^pes +4 on 2 processes' "$shunt" run histogram --transport mpi --ranks 2 --pes 4 --updates 1000
  bad 'no-such-graph' "$shunt" run triangle --transport mpi --pes 2 --graph no-such-graph.txt
  bad 'no-such-launcher' "$shunt" run histogram --transport mpi --launcher no-such-launcher
fi

name='doctor --json is JSON'
"$shunt" doctor --json >out 2>err
if command -v python3 >/dev/null && ! python3 -c 'import json; json.load(open("out"))["cpu"]["workers"]' 2>>err; then
  wrong 'does not parse'
else
  passed=$((passed + 1))
fi

name='output that cannot be written is an error'
"$shunt" apps >/dev/full 2>err
if (($? != 1)); then wrong 'status is not 1'; else passed=$((passed + 1)); fi

# The script, as far as it needs no build.
good '^shunt [0-9]' "$script" --version
good 'bench TABLE' "$script" --help
for sub in run apps bench doctor test setup; do
  good '^usage: shunt' "$script" help "$sub"
  good '^usage: shunt' "$script" "$sub" --help
done
bad 'unknown command .bensh.; near: bench' "$script" bensh
bad 'unknown table .histogramm.; near: histogram' "$script" bench histogramm
bad 'which table' "$script" bench
bad 'which application' "$script" run

echo "$passed passed, $failed failed"
((failed == 0))
