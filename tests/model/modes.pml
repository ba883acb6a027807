/* Going inside, solo mode, running alone, and memory that is freed (stm/detail/participant.hpp, tx::reclaim()).
 *
 *   mode:       OPEN | CHANGING | SOLO(p) | ALONE(p)
 *   number[p]:  odd while p is inside; buffer[p]: stored by p and not seen by others yet
 *
 * Invariants
 *   M1  While one is inside in solo mode or alone, no other participant is inside.
 *   M2  What a body has read is not freed before it has left.
 *   M3  All come to their end: no end but that one. A mode is left by the one that may leave it.
 *
 * Participant 0 goes to solo mode when it likes; participant 1 runs alone, once (an irrevocable transaction, or one that has
 * lost too often); participant 2 unlinks the box and frees it; all others, and these three, run transactions that read the
 * box. Numbers are stored as x86-64 does it, into a buffer; a heavy fence empties all buffers. A look at the mode may so come
 * before one's own number is seen. Exchanges of the mode are one step.
 */
#ifndef ALL
#define ALL 3
#endif
#ifndef TURNS
#define TURNS 1
#endif

#define OPEN     0
#define CHANGING 1
#define SOLO(p)  (2 + 2 * (p))
#define ALONE(p) (3 + 2 * (p))
#define IS_ALONE(m) ((m) > CHANGING && (m) % 2 == 1)

byte mode = OPEN;
byte number[ALL];
byte own[ALL];                /* the participant's own view of its number */
bool buffered[ALL];
byte box = 1;                 /* the one that is linked */
bool freed[3];
byte ended;
byte all_inside, sole_inside; /* M1 */

inline flush(p) {
  d_step {
    if
    :: buffered[p] -> number[p] = own[p]; buffered[p] = false
    :: else
    fi
  }
}

/* Whatever a buffer holds is seen at some time. */
proctype Memory(byte p) {
  do
  :: atomic { buffered[p] -> flush(p) }
  :: ended == ALL && !buffered[p] -> break
  od
}

/* The buffer keeps the order of stores: the last one is seen first. */
inline store_number(p, n) { atomic { flush(p); own[p] = n; buffered[p] = true } }

inline look_at_all() {
  d_step {
    i = 0;
    do
    :: i < ALL -> flush(i); i++
    :: else -> break
    od;
    i = 0
  }
}

/* From `from` to `to`; inside, if that is one of its own. */
inline change(from, to) {
  if
  :: atomic { mode == from -> flush(me); mode = CHANGING };
#ifndef M_NO_FENCE
     look_at_all();
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

inline enter() {
  sole = (now != OPEN);
  d_step { all_inside++; sole_inside = sole_inside + sole };
  assert(sole_inside == 0 || all_inside == 1)              /* M1 */
}

inline come_inside() {
  now = CHANGING;
  do
  :: store_number(me, own[me] + 1);
     now = mode;
     if
     :: now == OPEN || now == SOLO(me) -> break
     :: else ->
        store_number(me, own[me] + 1);
        if
#ifndef M_ALONE_IS_SOLO
        :: now > CHANGING && !IS_ALONE(now) -> change(now, OPEN); now = CHANGING
        :: now == CHANGING || IS_ALONE(now) -> mode != now
#else
        :: now > CHANGING -> change(now, OPEN); now = CHANGING
        :: now == CHANGING -> mode != now
#endif
        fi
     fi
  od;
  enter()
}

inline come_inside_alone() {
  now = CHANGING;
  do
  :: was = mode;
     if
     :: was == CHANGING || IS_ALONE(was) -> mode != was
     :: else ->
        change(was, ALONE(me));
        if
        :: now == ALONE(me) -> break
        :: else
        fi
     fi
  od;
  was = 0;
  enter()
}

inline leave() {
  d_step { all_inside--; sole_inside = sole_inside - sole };
  store_number(me, own[me] + 1)
}

inline body() {
  seen = box;
  assert(!freed[seen]);                                    /* M2 */
  skip;
  assert(!freed[seen]);
  seen = 0
}

/* Outside. What was unlinked is freed when those that were inside have left. */
inline reclaim(what) {
#ifndef M_FREES_WITHOUT_FENCE
  look_at_all();
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
  bool sole;
  do
  :: turns == TURNS -> break
  :: else ->
     if
     :: me == 0 && mode == OPEN ->                         /* look_for_solo() */
        now = CHANGING;
        change(OPEN, SOLO(me));
        if
        :: now == SOLO(me) -> store_number(me, own[me] + 1)  /* leaves; the mode stays */
        :: else
        fi
     :: true
     fi;
     if
     :: me == 1 && turns == 0 ->
        come_inside_alone();
        body();
#ifndef M_OPENS_FIRST
        leave();                                           /* leave_alone() */
        atomic { flush(me); mode = OPEN }
#else
        mode = OPEN;
        leave()
#endif
     :: else ->
        come_inside();
#ifdef SEE_SOLO
        assert(!sole);
#endif
        body();
        if
        :: me == 2 && turns == 0 ->
           was = box;
           box = 2;                                        /* unlinked; others may have read it */
           leave();
           reclaim(was);
           was = 0
        :: else -> leave()
        fi
     fi;
     sole = false; now = 0;
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
