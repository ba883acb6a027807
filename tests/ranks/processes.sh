#!/bin/bash
# What is left of a job of processes whose launcher, or one of whose ranks, is killed at some time: nothing.
#   [SEED=N] processes.sh SHUNT PGAS_RANKS PROCESSES_RANKS [TIMES]
set -u
shunt=$1 program=$2 sleeper=$3 times=${4:-6}
fail() { echo "processes.sh: $*" >&2; exit 1; }
stamp=$(mktemp)
trap 'rm -f "$stamp" "$stamp".*' EXIT
export PROCESSES_SH=$stamp  # every process of a job inherits it

# The processes of this script's jobs: what a job has in memory is gone with the last of them.
left_behind() (
  unset PROCESSES_SH
  grep -lazxF "PROCESSES_SH=$stamp" /proc/[0-9]*/environ 2>/dev/null | cut -d / -f 3
)

# all_end WHAT: within a minute.
all_end() {
  local left p
  for _ in $(seq 1200); do
    left=$(left_behind)
    [[ -z $left ]] && return
    sleep 0.05
  done
  for p in $left; do echo "process $p: $(tr '\0' ' ' <"/proc/$p/cmdline")" >&2; kill -9 "$p"; done
  fail "$1"
}

# kill_launcher WHAT RANKS WORD...: starts them, which print a line each; kills the launcher; the ranks end with it.
kill_launcher() {
  local what=$1 ranks=$2 launcher p
  "$shunt" start --ranks "$ranks" "${@:3}" >"$stamp.out" 2>&1 &
  launcher=$!
  for _ in $(seq 1200); do [[ $(wc -l <"$stamp.out") == "$ranks" ]] && break; sleep 0.05; done
  [[ $(wc -l <"$stamp.out") == "$ranks" ]] || fail "the ranks did not start: $(cat "$stamp.out")"
  # shellcheck disable=SC2046  # numbers are words
  for p in $(cat "$stamp.out"); do left_behind | grep -qx "$p" || fail "$what, $p, is not seen"; done
  kill -9 "$launcher"
  all_end "$what lives on without its launcher"
}

kill_launcher "a rank" 3 "$sleeper" asleep
# Behind a wrapper that forks the launcher cannot reach the ranks: they see that it has ended.
kill_launcher "a rank behind a wrapper" 2 bash -c '"$@"; true' x "$sleeper" beating

# A rank that ends before it opens the transport, and one that ends without a word.
"$shunt" start --ranks 2 bash -c 'if ((SHUNT_RANK == 1)); then exit 0; fi; exec "$@"' x "$sleeper" orderly \
  >"$stamp.out" 2>&1 && fail "a job with one rank less than wanted succeeds"
grep -q "rank 1 (process [0-9]*) ended before it called" "$stamp.out" || fail "an early end: $(cat "$stamp.out")"
"$shunt" start --ranks 2 bash -c 'if ((SHUNT_RANK == 1)); then exit 9; fi; exec sleep 20' >"$stamp.out" 2>&1
[[ $? == 9 ]] || fail "the status of the first that failed is lost"
grep -q "rank 1 (process [0-9]*) ended with status 9" "$stamp.out" || fail "a silent end: $(cat "$stamp.out")"

"$shunt" start --ranks 2 "$sleeper" aborted_with_256 >"$stamp.out" 2>&1
[[ $? == 1 ]] || fail "a status of which eight bits are 0 is taken for success: $(cat "$stamp.out")"

# Rank 1 is lost and rank 0 ends for that, both before the launcher looks: the cause is named.
# shellcheck disable=SC2016  # the ranks expand it
for end in 'kill -9 $$' 'exit 9'; do
  "$shunt" start --ranks 2 bash -c '
    echo $$ >"$0.$SHUNT_RANK"
    if ((SHUNT_RANK == 1)); then until [[ -e $0.go ]]; do sleep 0.02; done; '"$end"'; fi
    until [[ -e $0.follow ]]; do sleep 0.02; done
    exit 1' "$stamp" >"$stamp.out" 2>&1 &
  launcher=$!
  until [[ -s $stamp.0 && -s $stamp.1 ]]; do sleep 0.02; done
  kill -STOP "$launcher"
  is() { grep -q "^State:.$2" "/proc/$1/status"; }
  until is "$launcher" T; do sleep 0.02; done
  touch "$stamp.go"
  until is "$(cat "$stamp.1")" Z; do sleep 0.02; done
  touch "$stamp.follow"
  until is "$(cat "$stamp.0")" Z; do sleep 0.02; done
  kill -CONT "$launcher"
  wait "$launcher"
  status=$?
  rm -f "$stamp".{0,1,go,follow}
  grep -q "rank 1 (process [0-9]*) \(was ended by signal 9\|ended with status 9\)" "$stamp.out" ||
    fail "the follower is taken for the cause: status $status, $(cat "$stamp.out")"
done

# A script that uses low descriptors for its own files.
echo kept >"$stamp.own"
"$shunt" start --ranks 2 bash -c 'exec 3<>"$0" 4<>"$0" 5<>"$0"; exec "$@"' "$stamp.own" "$sleeper" orderly \
  >"$stamp.out" 2>&1 || fail "low descriptors: $(cat "$stamp.out")"
[[ $(cat "$stamp.own") == kept ]] || fail "the file of a script was overwritten"

all_end "a job has ended, and one of its processes has not"

# Random ranks are killed at random times of a job's life: it ends, and says which. A job that is over before does not
# count, unless that happens again and again.
job=("$shunt" start --ranks 3 "$program" --pes 6 --workers 1 --train 1k --budget 256k)
began=${EPOCHREALTIME/./}
"${job[@]}" >"$stamp.out" 2>&1 || fail "a job that is left alone fails: $(cat "$stamp.out")"
life=$((${EPOCHREALTIME/./} - began))  # microseconds
RANDOM=${SEED:=$$}
killed=0
for ((i = 0; i < times || (killed == 0 && i < 10 * times); ++i)); do
  "${job[@]}" >"$stamp.out" 2>&1 &
  launcher=$!
  sleep "$(printf '0.%06d' $(((RANDOM * 32768 + RANDOM) % (life < 900000 ? life : 900000))))"
  mapfile -t ranks < <(pgrep -P "$launcher")
  ((${#ranks[@]} > 0)) && kill -9 "${ranks[RANDOM % ${#ranks[@]}]}" 2>/dev/null
  wait "$launcher"
  status=$?
  # 0: the job was over before, or had not begun.
  case $status in
    0) ;;
    1 | 137)
      grep -q "ended by signal 9\|ended (process" "$stamp.out" || fail "run $i: no rank is named: $(cat "$stamp.out")"
      killed=$((killed + 1))
      ;;
    *) fail "run $i: status $status: $(cat "$stamp.out")" ;;
  esac
  all_end "run $i: a rank lives on"
done
((killed > 0)) || fail "no rank was killed in $i runs (SEED=$SEED)"
echo "processes.sh: $killed of $i runs (SEED=$SEED) lost a rank, nothing left"
