#!/bin/sh
# Checks the protocols of workers, trains, mailboxes and transactions with Spin.
#   Usage: check.sh [--keep DIR] [MODEL...]
#
# Invariants
#   K1  Every check is one line: ok or FAIL, the model, what is claimed, states and seconds. The last line counts them.
#   K2  A property that holds was searched to the end: no limit of depth, memory or time was met.
#   K3  A mutant (M_...) must fail, and for the reason given here; what must be able to occur (SEE_...) must be found.
#   K4  Every M_ and SEE_ switch in a model is run here, so that no switch rots.
#   K5  Nothing is written outside a temporary directory, or DIR.
#
# Exit status: 0 all passed, 1 some failed, 2 wrong use, 77 skipped (no spin or no C compiler).

here=$(cd "$(dirname "$0")" && pwd) || exit 2
keep=
if [ "${1-}" = --keep ]; then
  [ $# -ge 2 ] || { echo "check.sh: --keep needs a directory" >&2; exit 2; }
  mkdir -p "$2" || exit 2
  keep=$(cd "$2" && pwd) || exit 2
  shift 2
fi
for model in "$@"; do
  [ -f "$here/${model%.pml}.pml" ] || { echo "check.sh: no model $model; there are:" "$here"/*.pml >&2; exit 2; }
done
wanted=" $* "

cc=${CC:-cc}
command -v spin >/dev/null 2>&1 || { echo "SKIPPED: spin is not installed (Debian: apt install spin)"; exit 77; }
command -v "$cc" >/dev/null 2>&1 || { echo "SKIPPED: no C compiler: $cc"; exit 77; }

if [ -n "$keep" ]; then work=$keep; else
  work=$(mktemp -d) || exit 2
  trap 'rm -rf "$work"' EXIT
  trap 'exit 130' INT TERM
fi

passed=0
failed=0
used=' '

# check MODEL CLAIM MODE EXPECTED [SWITCH...]
#   MODE      ends     every assertion, no invalid end state
#             stops    the same, and no cycle: every run comes to its end whatever is fair
#             fair     the formula `live`, under weak fairness
#   EXPECTED  holds, or a pattern that Spin's verdict must match
check() {
  model=$1 claim=$2 mode=$3 expected=$4
  shift 4
  for switch in "$@"; do used="$used$switch "; done
  case $wanted in
    '  ' | *" $model "* | *" $model.pml "*) ;;
    *) return ;;
  esac
  case $mode in
    ends) build='-DSAFETY' run='' ;;
    stops) build='-DNP' run='-l' ;;
    fair) build='-DNFAIR=8' run='-a -f'; set -- "$@" LIVE ;;
  esac
  speed=-O1 table=-w20               # most of a mutant's time is the compiler's
  [ "$expected" = holds ] && speed=-O2 table=-w24
  room=$work/$model.$((passed + failed + 1))
  mkdir -p "$room"
  switches=
  for switch in "$@"; do switches="$switches -D$switch"; done
  # K2: bounds that end a search early are reported, and then the check fails.
  if ! (
    cd "$room" &&
      spin $switches -a "$here/$model.pml" >spin.out 2>&1 &&
      ! grep -q -i error spin.out &&
      "$cc" $speed -w -DMEMLIM=2000 $build -o pan pan.c >cc.out 2>&1 &&
      { ./pan $run -m200000 -n $table -Q10 >pan.out 2>&1; true; }
  ); then
    verdict='does not build'
    cat "$room/spin.out" "$room/cc.out" >"$room/pan.out" 2>/dev/null
  else
    verdict=$(sed -n 's/^pan:[0-9]*: //p; s/^pan: \(error.*\)/\1/p' "$room/pan.out" | head -n 1)
    if [ -z "$verdict" ]; then
      verdict=unfinished
      grep -q 'errors: 0$' "$room/pan.out" &&
        ! grep -q -i -e 'not completed' -e 'too small' -e 'MEMLIM' -e 'out of memory' -e 'limit' "$room/pan.out" &&
        verdict=holds
    fi
  fi
  states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' "$room/pan.out" | head -n 1)
  seconds=$(sed -n 's/^pan: elapsed time \([0-9.e+-]*\) seconds/\1/p' "$room/pan.out" | head -n 1)
  if [ "$expected" = holds ]; then
    [ "$verdict" = holds ]; good=$?
  else
    printf '%s\n' "$verdict" | grep -q -e "$expected"; good=$?
  fi
  if [ $good -eq 0 ]; then
    passed=$((passed + 1)) mark=ok
  else
    failed=$((failed + 1)) mark=FAIL
  fi
  printf '%-4s %-12s %-5s %-78s %9s states %6s s\n' $mark "$model" "$mode" "$claim" "${states:-?}" "${seconds:-?}"
  if [ $good -ne 0 ]; then
    printf '     expected: %s\n     spin says: %s\n     switches:%s\n' "$expected" "$verdict" "$switches"
    [ "$verdict" = 'does not build' ] && sed 's/^/     /' "$room/pan.out" | head -n 20
    [ -n "$keep" ] && echo "     replay:  cd $room && spin$switches -t -p -g -k $model.pml.trail $here/$model.pml"
  fi
  [ -n "$keep" ] || rm -rf "$room"
}

# --- end_marks ---
early='assertion violated (live\[epoch'                 # finish() returned while goods were under way
unready='assertion violated ((\{0,1\}\(term\|epoch\)\['   # ... while a worker had not terminated, a PE was not done
stuck='assertion violated .*finished\[d\]==2'           # a finish() that never returns
wrong='assertion violated (term\['                      # a good in a mailbox's wrong epoch

check end_marks '2 workers, 3 goods, then 2: all properties'              ends  holds   GOODS=3 GOODS_AGAIN=2
check end_marks '2 workers of 2 PEs'                                      ends  holds   PES=2 GOODS=2
check end_marks 'counts that only grow: 2 workers, 2 goods, then 1'       ends  holds   COUNTS_GROW
check end_marks '3 workers, 1 good, then 1'                               ends  holds   D=3 GOODS=1
check end_marks '3 mailboxes in a chain'                                ends  holds   M=3 GOODS=1
check end_marks '3 mailboxes, two of which feed the third: 1 good'         ends  holds   JOIN M=3 GOODS=1
check end_marks 'the same, 2 goods, one epoch of them'                    ends  holds   JOIN M=3 GOODS=2 GOODS_AGAIN=0
check end_marks '2 workers: every run comes to its end'                   stops holds
check end_marks '3 workers: every run comes to its end'                   stops holds   D=3 GOODS=1 GOODS_AGAIN=0
check end_marks 'every finish() returns, under weak fairness'           fair  holds   GOODS=1
check end_marks 'can occur: a good of the next epoch inside the barrier' \
  ends  '(finished\[d\]==e)' SEE_NEXT_EPOCH_IN_BARRIER
check end_marks 'can occur: marks overtake goods'                       ends  '(marks\[.*<(2-1)' SEE_GOOD_AFTER_MARKS
check end_marks 'mutant: no barrier'                                    ends  "$unready" MUTANT M_NO_BARRIER
check end_marks 'mutant: barrier one round short, 3 workers' \
  ends  "$unready" MUTANT M_ONE_ROUND D=3 GOODS=1
check end_marks 'mutant: counters reset when the barrier ends'          ends  "$stuck" MUTANT M_LATE_RESET
check end_marks 'mutant: counters reset when the barrier ends, as a formula' \
  fair  'acceptance cycle' MUTANT M_LATE_RESET GOODS=1
check end_marks 'mutant: marks without counts'                          ends  "$early" MUTANT M_COUNTLESS
check end_marks 'mutant: counts agree before all marks are in'          ends  "$wrong" MUTANT M_ANY_MARKS
check end_marks 'mutant: terminates before its own PEs are done'        ends  "$stuck" MUTANT M_UNDONE
check end_marks 'mutant: own lane not announced'                        ends  "$stuck" MUTANT M_NO_OWN_LANE
check end_marks 'mutant: marks of m+1 before m has terminated'          ends  "$stuck" MUTANT M_EARLY_CHAIN
check end_marks 'mutant: ends when one of two feeders has' \
  ends  "$wrong" MUTANT M_ONE_FEEDER JOIN M=3 GOODS=1
check end_marks 'mutant: goods sent by handlers not counted'            ends  "$stuck" MUTANT M_CHANNEL_0_ONLY
check end_marks 'mutant: handlers send to their own mailbox'            ends  "$stuck" MUTANT M_RECURSION
check end_marks 'mutant: a flag instead of a count of epochs, 2 PEs a worker' \
  ends  '(epoch\[((d\*2)+s)\]==2)' MUTANT M_FLAG PES=2 GOODS=1

# --- two_hops ---
stuck='assertion violated .*finished\[d\]==1'
check two_hops '2 x 2 workers, 1 good, then 1'                            ends  holds   M=1 GOODS_AGAIN=1
check two_hops '2 x 2 workers, 2 goods, one epoch'                        ends  holds   M=1 GOODS=2 EPOCHS=1
check two_hops '2 x 2 workers, request and reply, one epoch'              ends  holds   M=2 REQUESTS_ONLY EPOCHS=1
check two_hops '3 workers, last row not full, 2 goods, then 1'            ends  holds   D=3 M=1 GOODS=2 GOODS_AGAIN=1
check two_hops '3 workers, requests and replies, 2 requests' \
  ends  holds   D=3 M=2 REQUESTS_ONLY GOODS=2 EPOCHS=1
check two_hops '2 x 2 workers: every run comes to its end'                stops holds   M=1
check two_hops '3 workers: every finish() returns, under weak fairness'   fair  holds   D=3 M=1 EPOCHS=1
check two_hops 'can occur: a good of the next epoch inside the barrier' \
  ends  '(finished\[d\]==e)' M=1 GOODS_AGAIN=1 SEE_NEXT_EPOCH_IN_BARRIER
check two_hops 'can occur: marks overtake the good that they count'     ends  '(b_marks\[' M=1 SEE_GOOD_AFTER_MARKS
check two_hops 'mutant: no barrier' \
  ends  "$unready" MUTANT M=1 EPOCHS=1 M_NO_BARRIER
check two_hops 'mutant: goods sent on are not counted' \
  ends  "$stuck" MUTANT M=1 EPOCHS=1 M_SENT_ON_UNCOUNTED
check two_hops 'mutant: B-marks together with A-marks'                  ends  "$stuck" MUTANT M=1 EPOCHS=1 M_B_AT_DONE
check two_hops 'mutant: B-marks once A-marks are in, first hops or not' \
  ends  "$stuck" MUTANT M=1 EPOCHS=1 M_B_AT_A_MARKS
check two_hops 'mutant: B-marks before A-marks are in' \
  ends  "$stuck" MUTANT M=1 EPOCHS=1 M_B_WITHOUT_A_MARKS
check two_hops 'mutant: terminates without B-marks'                     ends  "$early" MUTANT M=1 EPOCHS=1 M_NO_B_MARKS
check two_hops 'mutant: B-marks without counts'                         ends  "$early" MUTANT M=1 EPOCHS=1 M_B_COUNTLESS
check two_hops 'mutant: own lane not announced' \
  ends  "$stuck" MUTANT M=1 EPOCHS=1 M_OWN_LANE_FORGOTTEN

# --- ending ---
unended='assertion violated (all_ended=='
check ending '5 workers, last row not full'                              ends  holds
check ending '2 x 2 workers'                                             ends  holds   D=4 C=2
check ending '4 workers, one hop'                                        ends  holds   D=4 C=4
check ending '2 x 2 workers: every run comes to its end'                 stops holds   D=4 C=2
check ending 'mutant: one round of marks where there are two hops'       ends  "$unended" M_ONE_HOP
check ending 'mutant: marks before the last mailbox has ended'           ends  "$unended" D=3 C=3 M_EARLY
check ending 'mutant: over without marks'                                ends  "$unended" D=3 C=3 M_NO_WAIT
check ending 'mutant: the second mark does not wait for the first ones'  ends  "$unended" M_SECOND_AT_ONCE

# --- riding_marks ---
unended='assertion violated ((((constructed'
check riding_marks '1 place, 1 message, then 2, and 2 of another selector'  stops holds
check riding_marks '1 place, 2 messages, then 2, and 3'                     stops holds   A1=2 B=3
check riding_marks '2 places, 2 messages, then 3, and 3'                    ends  holds   PLACES=2 A1=2 A2=3 B=3
check riding_marks 'can occur: a mark beside messages that must wait' \
  ends  'assertion violated  *!(((load&8)' SEE_RIDES_BESIDE_DEFERRED
check riding_marks 'mutant: a mark rides with another selector'"'"'s messages' ends  "$unended" M_RIDES_WITH_ANY
check riding_marks 'mutant: a mark goes on channel 0 in any case'           ends  "$unended" M_ALWAYS_RIDES
check riding_marks 'mutant: a mark waits for messages beside it'            ends  "$unended" M_MARK_WAITS
check riding_marks 'mutant: the token rides, too'                           ends  "$unended" M_TOKEN_RIDES
check riding_marks 'mutant: another worker'"'"'s token on channel 0'           ends  "$unended" M_TOKEN_ON_CHANNEL_0

# --- quiescence ---
undone='assertion violated ((epoch\['
check quiescence '2 workers, 4 goods, then 2: all properties'             ends  holds   GOODS=4 GOODS_AGAIN=2
check quiescence '2 workers, 6 goods, one epoch'                          ends  holds   GOODS=6 GOODS_AGAIN=0
check quiescence '3 workers, 3 goods, one epoch'                          ends  holds   D=3 GOODS=3 GOODS_AGAIN=0
check quiescence '3 workers, 2 goods, then 1'                             ends  holds   D=3 GOODS=2 GOODS_AGAIN=1
check quiescence 'sent contributed first, handled later'                ends  holds   TWO_MOMENTS
check quiescence 'every finish() returns, under weak fairness'          fair  holds   GOODS=3
check quiescence 'can occur: waves repeat while a good is under way'    stops 'non-progress cycle' GOODS=2
check quiescence 'can occur: a good of the next epoch before finish() returned' \
  ends  '(epoch\[d\]==e)' SEE_NEXT_EPOCH_EARLY
check quiescence 'can occur: a good between contribution and sums'      ends  '(wave\[d\]==' SEE_GOOD_AFTER_PART
check quiescence 'mutant: one wave'                                     ends  "$early" M_ONE_WAVE
check quiescence 'mutant: two waves, each balanced, at different sums' \
  ends  "$early" M_EQUAL_TWICE GOODS=6 GOODS_AGAIN=0
check quiescence 'mutant: two waves with the same sums, not balanced'   ends  "$early" M_STEADY
check quiescence 'mutant: contributes before its programs are done'     ends  "$undone" M_NOT_DONE
check quiescence 'mutant: counts a good as sent when its train departs' ends  "$early" M_COUNT_AT_DEPARTURE
check quiescence 'mutant: counters reset when finish() returns'         fair  'acceptance cycle' M_RESET GOODS=2

# --- credit ---
limit='assertion violated (all\[me\]<('                  # a handler found the pool at its limit
stuck='assertion violated ((requests'                    # deadlock
check credit 'request and reply, 1 regular train a channel, 1 beyond'   stops holds   REQUESTS=6
check credit 'request and reply, 2 regular trains'                      stops holds   REGULAR=2 REQUESTS=3
check credit 'trains of 2 goods, 2 beyond: one for each lane'           stops holds   GOODS=2 BEYOND=2 REQUESTS=3
check credit 'trains of 3 goods, 2 beyond: one for each lane'           ends  holds   GOODS=3 BEYOND=2 REQUESTS=3
check credit '3 workers'                                                  ends  holds   D=3 REQUESTS=2
check credit 'programs that never stop'                                 ends  holds   ENDLESS REGULAR=2
check credit 'chain of 3 classes, a channel for each'                   stops holds   KINDS=3 CHANNELS=3 REQUESTS=3
check credit 'two hops there, two back: 4 classes, a channel for each'  ends  holds   KINDS=4 CHANNELS=4 REQUESTS=2
check credit 'one count for all channels: request and reply'            stops holds   ONE_COUNT REQUESTS=6
check credit 'one count: trains of 2 goods, 2 beyond'                   stops holds   ONE_COUNT GOODS=2 BEYOND=2
check credit 'one count: 3 workers, programs that never stop'             ends  holds   ONE_COUNT ENDLESS D=3
check credit 'one count: 4 classes, a channel for each' \
  ends  holds   ONE_COUNT KINDS=4 CHANNELS=4 REQUESTS=3
check credit 'can occur: unloading while channel 1 is beyond its regular trains' \
  ends  '(out\[((me\*2)+1)\]<=1)' SEE_GATE_MATTERS
check credit 'limit: chain of 3 classes on 2 channels'                  ends  "$limit" KINDS=3
check credit 'limit: chain of 3 classes on 2 channels, 6 beyond'        ends  "$limit" KINDS=3 BEYOND=6 ENDLESS
check credit 'limit: request and reply over two hops on 2 channels'     ends  "$limit" KINDS=4
check credit 'limit: trains of 2 goods, 2 lanes, 1 beyond'              ends  "$limit" GOODS=2 BEYOND=1
check credit 'mutant: single channel, handlers wait for trains'         ends  "$stuck" M_ONE_CHANNEL CHANNELS=1
check credit 'mutant: single channel, handlers wait, 2 regular trains' \
  ends  "$stuck" M_ONE_CHANNEL CHANNELS=1 REGULAR=2
check credit 'mutant: two channels, one pool, handlers wait for trains' ends  "$stuck" M_HANDLERS_WAIT ONE_COUNT
check credit 'mutant: channel 1 unloaded like channel 0'                ends  "$stuck" M_ALL_GATED
check credit 'mutant: channel 0 always unloaded'                        ends  "$limit" M_NO_GATE
check credit 'mutant: chain of 3 classes, channel 1 waits at the limit' \
  ends  "$stuck" KINDS=3 M_LAST_GATED BEYOND=3 REQUESTS=8
check credit 'mutant: two hops, sent on by the channel it came by' \
  ends  "$stuck" KINDS=4 M_FORWARD_KEEPS_CHANNEL BEYOND=4
check credit 'mutant: open trains wait until they are full'             ends  "$stuck" M_NO_FLUSH GOODS=2 BEYOND=2

# --- inbox_sleep ---
stuck='invalid end state'
check inbox_sleep '2 pushers, a node each, 2 pushes, no time-outs'      stops holds   SPURIOUS=0
check inbox_sleep '2 pushers of 2 nodes, 3 pushes each, 2 time-outs'    ends  holds   NODES=2 PUSHES=3 SPURIOUS=2
check inbox_sleep '3 pushers, 2 pushes each, 1 time-out'                ends  holds   PUSHERS=3
check inbox_sleep 'the owner gets everything, under weak fairness'      fair  holds   NODES=2
check inbox_sleep 'can occur: a wake that comes after its work is done' ends  '(word!=1)' SEE_LATE_WAKE
check inbox_sleep 'mutant: looks, then sleeps without arming'           ends  "$stuck" M_UNARMED
check inbox_sleep 'mutant: looks, then sleeps without arming, as a formula' fair 'acceptance cycle' M_UNARMED
check inbox_sleep 'mutant: arms with a store'                           ends  "$stuck" M_ARM_STORES
check inbox_sleep 'mutant: a pusher that found it asleep does not wake' ends  "$stuck" M_NO_WAKE
check inbox_sleep 'mutant: parker without a token'                      ends  "$stuck" M_NO_TOKEN
check inbox_sleep 'mutant: push with a load and a store'                ends  'assertion violated (stamp' M_PUSH_STORES
check inbox_sleep 'mutant: does not disarm after a time-out'            ends  '(word!=1)' M_NO_DISARM
check inbox_sleep 'mutant: owner leaves while a pusher owes a wake'     ends  '(left)' M_LEAVES_EARLY

# --- line_sleep ---
check line_sleep '2 stops, 1 train, 2 goods'                              ends  holds   TRAINS=1
check line_sleep '1 stop, 1 train, 4 goods'                               ends  holds   STOPS=1 TRAINS=1 GOODS=4
check line_sleep '1 stop, 2 trains, 4 goods'                              ends  holds   STOPS=1 GOODS=4
check line_sleep 'mutant: sleeps without the heavy fence'                 ends  "$stuck" STOPS=1 M_NO_FENCE
check line_sleep 'mutant: sleeps without a second look'                   ends  "$stuck" STOPS=1 M_NO_SECOND_LOOK
check line_sleep 'mutant: a station that departs wakes none'              ends  "$stuck" STOPS=1 M_NO_WAKE
check line_sleep 'mutant: forgets the watchers after it woke them'        ends  "$stuck" TRAINS=1 M_CLEARS_LAST
check line_sleep 'mutant: loads a train that a stop still has' \
  ends  'assertion violated (left' STOPS=1 GOODS=4 M_OVERRUN
# --- stm ---
stuck='invalid end state'          # also: the waiter waits for a sum that a lost increment has spoilt
torn='assertion violated (r\[0\]==r\[1\])'
check stm '2 writers, one of them exclusive, and a waiter: all properties' ends  holds
check stm 'can occur: a transaction in exclusive mode' \
  ends  'assertion violated  *!(exclusive)' SEE_EXCLUSIVE
check stm 'can occur: a transaction that retries sleeps'                ends  'assertion violated token' SEE_SLEEP
check stm 'mutant: no second look at the word'                          ends  "$torn" M_NO_SECOND_LOOK
check stm 'mutant: the snapshot is extended without a look at what was read' ends "$torn" M_NO_EXTENSION
check stm 'mutant: commits without validation'                          ends  "$stuck" M_NO_VALIDATION
check stm 'mutant: unlocks before it has written'                       ends  "$stuck" M_EARLY_UNLOCK
check stm 'mutant: goes exclusive without waiting for others'           ends  '(exclusive_inside==0)' M_HASTY_EXCLUSIVE
check stm 'mutant: a newcomer takes a change of the mode for its own' ends '(exclusive_inside==0)' M_FRESH_AS_BEFORE
check stm 'mutant: reads without a look, not only in exclusive mode'         ends  "$torn" M_READS_PASS
check stm 'mutant: parks without a look at what has changed'            ends  "$stuck" M_NO_CHECK
check stm 'mutant: a commit wakes no transaction'                       ends  "$stuck" M_NO_WAKE
check stm 'both writers commute, and read nothing'                      ends  holds COMMUTES=2 COMMUTES_FROM=0
check stm 'both writers read one variable, and commute the other'       ends  holds COMMUTES=2 COMMUTES_FROM=1
check stm 'one commutes, the other reads'                               ends  holds COMMUTES=1 COMMUTES_FROM=0
check stm 'can occur: commits what has changed since it began' \
  ends  'assertion violated ((old\[0\]' SEE_COMMUTED COMMUTES=1 COMMUTES_FROM=0
check stm 'mutant: commutes with what stood there before it was locked' \
  ends  "$torn" M_COMMUTES_EARLY COMMUTES=1 COMMUTES_FROM=0

# --- parker ---
stuck='invalid end state'
check parker '2 senders, 1 event'                                         stops holds
check parker '2 senders of 2 each, 2 events, 2 sleeps too long'           stops holds   SENDS=2 EVENTS=2 SPURIOUS=2
check parker '3 senders, no event: a futex or the wake_fd'                stops holds   SENDERS=3 EVENTS=0
check parker 'can occur: a write that comes after its work was done' \
  ends  'assertion violated  *!(wake_fd)' SEE_LATE_WRITE SPURIOUS=1
check parker 'mutant: whose token found the owner away does not write'    ends  "$stuck" M_NEVER_WRITES
check parker 'mutant: the owner goes away with a load and a store'        ends  "$stuck" M_AWAY_STORES
check parker 'mutant: does not say that it is away'                       ends  "$stuck" M_NOT_AWAY
check parker 'mutant: goes away without a look at the token'              ends  "$stuck" M_TOKEN_UNSEEN
check parker 'mutant: sleeps on the wake_fd alone'                        ends  "$stuck" M_WAKE_FD_ALONE
check parker 'mutant: does not read the wake_fd'                          stops 'non-progress cycle' M_STAYS_READABLE

# --- migrate ---
elsewhere='assertion violated .*saved\[r\]&&(home\[r\]==me)'   # runs where it is not at home, or before it was saved
check migrate '2 fibers, 2 workers, wakes and deadlines: all properties'   ends  holds
check migrate 'can occur: a fiber is handed over'                         ends  'assertion violated 0' SEE_HANDED
check migrate 'mutant: home stays what it was'                            ends  "$elsewhere" M_HOME_KEPT
check migrate 'mutant: a wake sends a fiber to any worker'                ends  "$elsewhere" M_WAKES_ANYWHERE
check migrate 'mutant: hands over in a fiber, not in the loop'            ends  "$elsewhere" M_HANDS_OVER_IN_FIBER
check migrate 'mutant: hands over a fiber whose deadline stands here' \
  ends  'assertion violated (heap\[r\]==me)' M_HANDS_DEADLINES
check migrate 'mutant: a deadline enqueues a fiber that was woken' \
  ends  'assertion violated (stands\[f\]==0)' M_EXPIRES_TWICE
check migrate 'mutant: a stack stays where its fiber has ended' \
  ends  'assertion violated (first_worker\[' M_STACK_STAYS
check migrate 'mutant: the sleeper that gets a fiber is not woken'          ends  "$stuck" M_NO_UNPARK

# --- posted_wake ---
check posted_wake '2 fibers of 2 workers, wakes that come late: all properties' ends holds
check posted_wake '2 fibers of one worker, between which its runtime ends'     ends  holds   SECOND=0
check posted_wake 'can occur: a wake goes on to where the block is by now' \
  ends  'assertion violated  *!(passed_on)' SEE_PASSED_ON
check posted_wake 'mutant: does not look for a home again'                     ends  "$stuck" M_FORGETS
check posted_wake 'mutant: drops a wake that has come to the wrong worker'     ends  "$stuck" M_DROPS
check posted_wake 'mutant: a runtime ends with wakes in its inbox' \
  ends  'assertion violated (( !(under_way)' M_LEAVES

# --- modes ---
with_others='assertion violated ((exclusive_inside==0)||(all_inside==1))'
early='assertion violated  *!(freed\['
check modes '3 participants: exclusive, irrevocable, and one frees memory' ends  holds
check modes 'can occur: a transaction in exclusive mode' \
  ends  'assertion violated  *!(exclusive)' SEE_EXCLUSIVE
check modes 'can occur: memory waits for a participant that is inside'    ends  'assertion violated 0' SEE_READER_INSIDE
check modes 'mutant: the mode is changed without a heavy fence'           ends  "$with_others" M_NO_FENCE
check modes 'mutant: the mode is changed without waiting for others'      ends  "$with_others" M_HASTY
check modes 'mutant: irrevocable mode is ended by others, as exclusive mode is' \
  ends  "$with_others" M_IRREVOCABLE_IS_EXCLUSIVE
check modes 'mutant: opens the mode, and then leaves'                     ends  "$with_others" M_OPENS_FIRST
check modes 'mutant: memory is freed without a heavy fence'               ends  "$early" M_FREES_WITHOUT_FENCE
check modes 'mutant: memory is freed at once'                             ends  "$early" M_FREES_AT_ONCE

# K4
for switch in $(cat "$here"/*.pml | grep -o -E '^#if.*\b(M_|SEE_)[A-Z0-9_]+' |
  grep -o -E '\b(M_|SEE_)[A-Z0-9_]+' | sort -u); do
  case $used in
    *" $switch "*) ;;
    *) echo "FAIL $switch stands in a model and no check uses it"; failed=$((failed + 1)) ;;
  esac
done

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
