/* Entering, exclusive mode, irrevocable mode, and memory that is freed (src/shunt/stm/detail/engine/: participant.hpp,
 * participant.cpp, reclaimer.cpp).
 *
 *   mode:       OPEN | CHANGING | EXCLUSIVE(p) | IRREVOCABLE(p)
 *   number[p]:  odd while p is inside; buffered[p]: stored by p and not seen by others yet
 *
 * Invariants
 *   modes.M1  While a participant is inside in exclusive or irrevocable mode, no other one is inside.
 *   modes.M2  What a body has read is not freed before the participant has left.
 *   modes.M3  There is no end but the one in which all have ended. A mode is ended by a participant that may end it.
 *
 * Participant 0 changes to exclusive mode when it likes; participant 1 runs irrevocably, once; participant 2 unlinks
 * the box and frees it; all participants run transactions that read the box. Numbers are stored as x86-64 does it, into
 * a buffer; a heavy fence empties all buffers. So a look at the mode may come before others see the participant's
 * number. Exchanges of the mode are one step.
 */
#ifndef ALL
#define ALL 3
#endif
#ifndef TURNS
#define TURNS 1
#endif

#define OPEN     0
#define CHANGING 1
#define EXCLUSIVE(p)  (2 + 2 * (p))
#define IRREVOCABLE(p) (3 + 2 * (p))
#define IS_IRREVOCABLE(m) ((m) > CHANGING && (m) % 2 == 1)

byte mode = OPEN;
byte number[ALL];
byte own[ALL];                /* the participant's own view of its number */
bool buffered[ALL];
byte box = 1;                 /* the one that is linked */
bool freed[3];
byte ended;
byte all_inside, exclusive_inside; /* modes.M1 */

inline flush(p) {
  d_step {
    if
    :: buffered[p] -> number[p] = own[p]; buffered[p] = false
    :: else
    fi
  }
}

/* What a buffer holds is seen at some time. */
proctype Memory(byte p) {
  do
  :: atomic { buffered[p] -> flush(p) }
  :: ended == ALL && !buffered[p] -> break
  od
}

/* The buffer keeps the order of stores: the last one is seen first. */
inline store_number(p, n) { atomic { flush(p); own[p] = n; buffered[p] = true } }

inline heavy_fence() {
  d_step {
    i = 0;
    do
    :: i < ALL -> flush(i); i++
    :: else -> break
    od;
    i = 0
  }
}

/* Changes the mode from `from` to `to`; the participant is inside, if `to` is one of its own modes. */
inline change(from, to) {
  if
  :: atomic { mode == from -> flush(me); mode = CHANGING };
#ifndef M_NO_FENCE
     heavy_fence();
#endif
#ifndef M_HASTY
     i = 0;
     do
     :: i == ALL -> break
     :: i == me -> i++
     :: i < ALL && i != me ->
        seen = number[i];
        if
        :: seen % 2 == 0
        :: seen % 2 == 1 -> number[i] != seen
        fi;
        i++
     od;
     i = 0; seen = 0;
#endif
     if
     :: to != OPEN ->
        store_number(me, own[me] + 1);
        now = to
     :: else
     fi;
     atomic { flush(me); mode = to }     /* a release store: after the number */
  :: else
  fi
}

inline has_entered() {
  exclusive = (now != OPEN);
  d_step { all_inside++; exclusive_inside = exclusive_inside + exclusive };
  assert(exclusive_inside == 0 || all_inside == 1)              /* modes.M1 */
}

inline enter() {
  now = CHANGING;
  do
  :: store_number(me, own[me] + 1);
     now = mode;
     if
     :: now == OPEN || now == EXCLUSIVE(me) -> break
     :: else ->
        store_number(me, own[me] + 1);
        if
#ifndef M_IRREVOCABLE_IS_EXCLUSIVE
        :: now > CHANGING && !IS_IRREVOCABLE(now) -> change(now, OPEN); now = CHANGING
        :: now == CHANGING || IS_IRREVOCABLE(now) -> mode != now
#else
        :: now > CHANGING -> change(now, OPEN); now = CHANGING
        :: now == CHANGING -> mode != now
#endif
        fi
     fi
  od;
  has_entered()
}

inline enter_irrevocably() {
  now = CHANGING;
  do
  :: was = mode;
     if
     :: was == CHANGING || IS_IRREVOCABLE(was) -> mode != was
     :: else ->
        change(was, IRREVOCABLE(me));
        if
        :: now == IRREVOCABLE(me) -> break
        :: else
        fi
     fi
  od;
  was = 0;
  has_entered()
}

inline leave() {
  d_step { all_inside--; exclusive_inside = exclusive_inside - exclusive };
  store_number(me, own[me] + 1)
}

inline body() {
  seen = box;
  assert(!freed[seen]);                                    /* modes.M2 */
  skip;
  assert(!freed[seen]);
  seen = 0
}

/* Outside. The unlinked box is freed when the participants that were inside have left. */
inline free_unseen(what) {
#ifndef M_FREES_WITHOUT_FENCE
  heavy_fence();
#endif
  i = 0;
  do
  :: i == ALL -> break
  :: i == me -> i++
  :: i < ALL && i != me ->
#ifndef M_FREES_AT_ONCE
     seen = number[i];
     if
     :: seen % 2 == 0
     :: seen % 2 == 1 ->
#ifdef SEE_READER_INSIDE
        assert(false);
#endif
        number[i] != seen
     fi;
#endif
     i++
  od;
  i = 0; seen = 0;
  freed[what] = true
}

proctype Participant(byte me) {
  byte i, seen, now, was, turns;
  bool exclusive;
  do
  :: turns == TURNS -> break
  :: else ->
     if
     :: me == 0 && mode == OPEN ->                         /* try_exclusive_mode() */
        now = CHANGING;
        change(OPEN, EXCLUSIVE(me));
        if
        :: now == EXCLUSIVE(me) -> store_number(me, own[me] + 1)  /* leaves; the mode stays */
        :: else
        fi
     :: true
     fi;
     if
     :: me == 1 && turns == 0 ->
        enter_irrevocably();
        body();
#ifndef M_OPENS_FIRST
        leave();                                           /* leave_irrevocable() */
        atomic { flush(me); mode = OPEN }
#else
        mode = OPEN;
        leave()
#endif
     :: else ->
        enter();
#ifdef SEE_EXCLUSIVE
        assert(!exclusive);
#endif
        body();
        if
        :: me == 2 && turns == 0 ->
           was = box;
           box = 2;                                        /* unlinked; others may have read it */
           leave();
           free_unseen(was);
           was = 0
        :: else -> leave()
        fi
     fi;
     exclusive = false; now = 0;
     turns++
  od;
  ended++
}

init {
  byte p;
  atomic {
    for (p : 0 .. ALL - 1) { run Participant(p) };
    for (p : 0 .. ALL - 1) { run Memory(p) }
  };
  ended == ALL
}
