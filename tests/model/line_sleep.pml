/* A source and the unloaders behind it (here: stops): trains round a ring, ends, and the sleep of stations
 * (rail/line.hpp).
 *
 *   station 0: the source; stations 1 .. STOPS: the last stops of its track, each sees every train
 *   progress[i]: trains that have left station i, as the others see it; END is added with the last word
 *
 * Invariants
 *   N1  A stop finds in a train what the source loaded for that position; none twice, none left out.
 *   N2  The source loads no train that a stop has not let go.
 *   N3  Every station comes to its end: a sleeper with something to do is awake, or about to be woken.
 *
 * Stores are buffered, as x86-64 does it: what a station publishes is seen by the others some time later (buffer), its
 * own reads come before it. An exchange, and the other side's heavy fence, empty the buffer first. Goods are written
 * before the word that tells of them, so they are seen at once here; the buffer keeps the order.
 */
#ifndef STOPS
#define STOPS 2
#endif
#ifndef TRAINS
#define TRAINS 2
#endif
#ifndef GOODS
#define GOODS 2
#endif

#define ALL  (STOPS + 1)
#define END  64
#define NONE 255
#define COUNT(w) ((w) % END)

byte progress[ALL];
byte buffer[ALL];        /* published and not seen yet; NONE */
bool watched[ALL];
bool asleep[ALL];
bool token[ALL];         /* of each station's bed */
byte train[TRAINS];      /* the position that is in it, + 1 */
byte left[TRAINS];       /* stops that have not been through with it */
byte through;            /* stations that have come to their end */

inline flush(i) {
  if
  :: buffer[i] != NONE -> progress[i] = buffer[i]; buffer[i] = NONE
  :: else
  fi
}

/* The stations that may wait for station i: the source for the stops, the stops for the source. */
inline wake_one(s) {
  atomic {
    if
    :: asleep[s] -> asleep[s] = false; token[s] = true
    :: else
    fi
  }
}
inline wake_sleepers(i) {
  if
  :: i == 0 ->
     w = 1;
     do
     :: w < ALL -> wake_one(w); w++
     :: else -> break
     od
  :: else -> wake_one(0)
  fi;
  w = 0
}

inline publish(i, word) {
  atomic { flush(i); buffer[i] = word };
  if
  :: watched[i] ->
#ifdef M_CLEARS_LAST
     wake_sleepers(i);
     atomic { flush(i); watched[i] = false }
#else
     atomic { flush(i); watched[i] = false };        /* the exchange */
#ifndef M_NO_WAKE
     wake_sleepers(i)
#endif
#endif
  :: else
  fi
}

/* Whatever a buffer holds becomes visible at some time. */
proctype Memory(byte i) {
  do
  :: atomic { buffer[i] != NONE -> flush(i) }
  :: through == ALL && buffer[i] == NONE -> break
  od
}

inline heavy_fence() {
#ifdef M_NO_FENCE
  skip
#else
  f = 0;
  do
  :: f < ALL -> atomic { flush(f); f++ }
  :: else -> break
  od;
  f = 0
#endif
}

inline sleep_unless(i, condition) {
#ifndef M_NO_SECOND_LOOK
  if
  :: condition -> skip
  :: else -> atomic { token[i] -> token[i] = false }
  fi;
#else
  atomic { token[i] -> token[i] = false };
#endif
  asleep[i] = false
}

inline look_at_stops() {   /* least: of all stops' progress; one read after the other */
  least = END; s = 1;
  do
  :: s < ALL -> atomic { least = (COUNT(progress[s]) < least -> COUNT(progress[s]) : least); s++ }
  :: else -> break
  od;
  s = 0
}

proctype Source() {
  byte next, least, s, f, w;
  do
  :: next == GOODS -> break
  :: else ->
     look_at_stops();
     do
#ifdef M_OVERRUN
     :: next <= least + TRAINS -> break
     :: else ->
#else
     :: next < least + TRAINS -> break
     :: else ->
#endif
        asleep[0] = true;
        s = 1;
        do
        :: s < ALL -> watched[s] = true; s++
        :: else -> break
        od;
        heavy_fence();
        look_at_stops();
        sleep_unless(0, next < least + TRAINS);
        look_at_stops()
     od;
     atomic {
       assert(left[next % TRAINS] == 0);             /* N2 */
       train[next % TRAINS] = next + 1;
       left[next % TRAINS] = STOPS
     };
     next++;
     publish(0, next)
  od;
  publish(0, next + END);
  through++
}

proctype Stop(byte me) {
  byte next, seen, f, w;
  do
  :: seen = progress[0];
     if
     :: COUNT(seen) > next ->
        atomic {
          assert(train[next % TRAINS] == next + 1);  /* N1 */
          left[next % TRAINS]--
        };
        next++;
        publish(me, next)
     :: COUNT(seen) == next && seen >= END -> break
     :: else ->
        asleep[me] = true;
        watched[0] = true;
        heavy_fence();
        seen = progress[0];
        sleep_unless(me, COUNT(seen) > next || seen >= END)
     fi
  od;
  assert(next == GOODS);                             /* N1 */
  through++
}

init {
  byte i;
  atomic {
    for (i : 0 .. STOPS) { buffer[i] = NONE };
    for (i : 0 .. STOPS) { run Memory(i) };
    run Source();
    for (i : 1 .. STOPS) { run Stop(i) }
  }
}
