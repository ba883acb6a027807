#!/bin/bash
# What is left of a job of processes whose launcher, or one of whose ranks, is killed at some time: nothing.
#   [SEED=N] processes.sh SHUNT PGAS_RANKS PROCESSES_RANKS [TIMES]
set -u
shunt=$1 program=$2 sleeper=$3 times=${4:-6}
fail() { echo "processes.sh: $*" >&2; exit 1; }
left_behind() { find /dev/shm /tmp -maxdepth 1 -newer "$stamp" \( -name '*shunt*' -o -name 'memfd*' \) 2>/dev/null; }
stamp=$(mktemp)
trap 'rm -f "$stamp" "$stamp".*' EXIT

# all_end WHAT PID...: within ten seconds.
all_end() {
  local what=$1 alive p
  for _ in $(seq 200); do
    alive=0
    for p in "${@:2}"; do kill -0 "$p" 2>/dev/null && alive=1; done
    ((alive == 0)) && return
    sleep 0.05
  done
  fail "$what lives on without its launcher"
}

# kill_launcher WHAT RANKS WORD...: starts them, which print their numbers; kills the launcher; the ranks end with it.
kill_launcher() {
  local what=$1 ranks=$2 launcher
  "$shunt" start --ranks "$ranks" "${@:3}" >"$stamp.out" 2>&1 &
  launcher=$!
  for _ in $(seq 200); do [[ $(wc -l <"$stamp.out") == "$ranks" ]] && break; sleep 0.05; done
  [[ $(wc -l <"$stamp.out") == "$ranks" ]] || fail "the ranks did not start: $(cat "$stamp.out")"
  kill -9 "$launcher"
  # shellcheck disable=SC2046  # numbers are words
  all_end "$what" $(cat "$stamp.out")
}

kill_launcher "a rank" 3 "$sleeper" asleep
# Behind a wrapper that forks the launcher cannot reach the ranks: they see that it has ended.
kill_launcher "a rank behind a wrapper" 2 bash -c '"$@"; true' x "$sleeper" beating

# A rank that ends before it opens the transport, and one that ends without a word.
"$shunt" start --ranks 2 bash -c 'if ((SHUNT_RANK == 1)); then exit 0; fi; exec "$@"' x "$sleeper" orderly \
  >"$stamp.out" 2>&1 && fail "a job with one rank less than wanted succeeds"
grep -q "rank 1 (process [0-9]*) ended before it called" "$stamp.out" || fail "an early end: $(cat "$stamp.out")"
"$shunt" start --ranks 2 bash -c 'if ((SHUNT_RANK == 1)); then exit 9; fi; sleep 20' >"$stamp.out" 2>&1
[[ $? == 9 ]] || fail "the status of the first that failed is lost"
grep -q "rank 1 (process [0-9]*) ended with status 9" "$stamp.out" || fail "a silent end: $(cat "$stamp.out")"

# A script that uses low descriptors for its own files.
echo kept >"$stamp.own"
"$shunt" start --ranks 2 bash -c 'exec 3<>"$0" 4<>"$0" 5<>"$0"; exec "$@"' "$stamp.own" "$sleeper" orderly \
  >"$stamp.out" 2>&1 || fail "low descriptors: $(cat "$stamp.out")"
[[ $(cat "$stamp.own") == kept ]] || fail "the file of a script was overwritten"

# Random ranks are killed at random times: the job ends, and says which.
RANDOM=${SEED:=$$}
for ((i = 0; i < times; ++i)); do
  "$shunt" start --ranks 3 "$program" --pes 6 --workers 1 --train 1k --budget 256k >"$stamp.out" 2>&1 &
  launcher=$!
  sleep "0.0$((RANDOM % 90 + 10))"
  ranks=($(pgrep -P "$launcher"))
  ((${#ranks[@]} > 0)) && kill -9 "${ranks[RANDOM % ${#ranks[@]}]}" 2>/dev/null
  wait "$launcher"
  status=$?
  # 0: the job was over before.
  case $status in
    0) ;;
    1 | 137)
      grep -q "ended by signal 9\|ended (process" "$stamp.out" || fail "run $i: no rank is named: $(cat "$stamp.out")"
      ;;
    *) fail "run $i: status $status: $(cat "$stamp.out")" ;;
  esac
  all_end "run $i: a rank" "${ranks[@]}"
done
[[ -z $(left_behind) ]] || fail "files are left: $(left_behind)"
echo "processes.sh: $times runs (SEED=$SEED), nothing left"
