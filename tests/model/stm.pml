/* Transactions: read, extend, commit, park and wake, and the hand-over of exclusive mode.
 *
 *   lock[x]:  LOCKED, or 2 * version + WAITERS        mode:  OPEN | CHANGING | EXCLUSIVE(p)
 *
 * Invariants
 *   stm_model.S1  All values that a transaction has read stood there together, also in one that will not commit
 *                 (opacity).
 *   stm_model.S2  Every committed increment is there at the end (nothing is lost).
 *   stm_model.S3  While one participant is inside in exclusive mode, no other is inside.
 *   stm_model.S4  A sleeping transaction is woken: there is no end but the one in which all have ended.
 *
 * WRITERS increment both variables, TURNS times each: so they are equal at every moment, and S1 is "equal". One WAITER
 * retries until both have reached the sum of all increments. Every load, store and exchange of the code is a step
 * (src/shunt/stm/detail/engine/: participant.hpp, read_log.cpp, commit.cpp, waiters.cpp); the clock's increment and the
 * mode's exchange are one step each. Memory is sequentially consistent here: orderings are argued in the headers.
 * The first writer changes to exclusive mode whenever it likes; others end it.
 *
 * With COMMUTES the last COMMUTES writers do not read the variables from COMMUTES_FROM on (0: neither, 1: the first
 * only). Their increments commute: a commit applies them to the values that it finds once both variables are locked,
 * and validation leaves those variables out.
 */
#ifndef WRITERS
#define WRITERS 2
#endif
#ifndef TURNS
#define TURNS 1
#endif
#ifdef COMMUTES
#define commutes (me >= WRITERS - COMMUTES)
#else
#define commutes false
#define COMMUTES_FROM 2
#endif
#define ALL (WRITERS + 1)      /* participants; the last is the one that waits */

#define LOCKED   255
#define OPEN     0
#define CHANGING 1
#define EXCLUSIVE(p)  (2 + (p))
#define NO_MODE  250

byte lock[2] = 2;              /* version 1 */
byte value[2];
byte clock = 1;
byte mode = OPEN;
bool inside[ALL];
byte exclusive_inside;              /* stm_model.S3 */
byte all_inside;
bool linked[2];                /* the waiter stands in that variable's bucket */
bool token;                    /* its sleeper's word */
byte ended;

#define VERSION(w) ((w) >> 1)
#define WAITS(w)   ((w) & 1)

/* --- the mode ---------------------------------------------------------------------------------------------------- */

/* Changes the mode from `from` to `to`, if no other participant was faster. */
inline change(me, from, to) {
  if
  :: atomic { mode == from -> mode = CHANGING }
#ifndef M_HASTY_EXCLUSIVE
     i = 0;
     do
     :: i < ALL && i != me -> !inside[i]; i++       /* waits until it is outside */
     :: i < ALL && i == me -> i++
     :: i == ALL -> break
     od;
     i = 0;
#endif
     mode = to
  :: else -> skip
  fi
}

/* The mode in which a participant was last inside; at first none. While the mode is the same, it enters at once. */
#ifndef M_FRESH_AS_BEFORE
#define FIRST_BEFORE NO_MODE
#else
#define FIRST_BEFORE CHANGING
#endif

inline enter(me) {
  do
  :: inside[me] = true;
     seen_mode = mode;
     if
     :: seen_mode == before || seen_mode == OPEN || seen_mode == EXCLUSIVE(me) ->
        before = seen_mode;
        exclusive = (seen_mode == EXCLUSIVE(me));
        d_step { all_inside++; if :: exclusive -> exclusive_inside++ :: else fi };
        assert(exclusive_inside == 0 || all_inside == 1);       /* stm_model.S3 */
        seen_mode = 0;
        break
     :: else ->
        inside[me] = false;
        if
        :: seen_mode > CHANGING -> change(me, seen_mode, OPEN)
        :: else -> mode != CHANGING
        fi
     fi
  od
}

inline leave(me) {
  d_step { all_inside--; if :: exclusive -> exclusive_inside-- :: else fi; exclusive = false; inside[me] = false }
}

/* --- reading ----------------------------------------------------------------------------------------------------- */

/* r[x] = value; `lost` if it cannot be had. What has been read so far: variables below x. */
inline read(x) {
  do
  :: w = lock[x];
     if
     :: w == LOCKED -> lost = true; break
     :: w != LOCKED && VERSION(w) > limit ->
        now = clock;
#ifndef M_NO_EXTENSION
        if
        :: x == 1 ->
           w = lock[0];
           if
           :: w == LOCKED || VERSION(w) > limit -> lost = true
           :: else
           fi
        :: else
        fi;
#endif
        if
        :: lost -> break
        :: else -> limit = now
        fi
     :: else ->
        r[x] = value[x];
#ifndef M_NO_SECOND_LOOK
        if
        :: lock[x] == w -> break
        :: else
        fi
#else
        break
#endif
     fi
  od;
  w = 0; now = 0
}

/* In exclusive mode in place. */
inline read_both() {
  limit = clock;
#ifndef M_READS_PASS
  if
  :: exclusive -> r[0] = value[0]; r[1] = value[1]
  :: else ->
     read(0);
     if
     :: !lost -> read(1)
     :: else
     fi
  fi;
#else
  r[0] = value[0]; r[1] = value[1];
#endif
  if
  :: !lost -> assert(r[0] == r[1])                          /* stm_model.S1 */
  :: else
  fi
}

/* --- writing ----------------------------------------------------------------------------------------------------- */

/* For a committed variable whose replaced word had WAITERS: wakes the fiber in its bucket. */
inline wake(x) {
  atomic {
    if
    :: linked[x] -> linked[x] = false; token = true
    :: else
    fi
  }
}

inline lock_it(x) {
  do
  :: old[x] = lock[x];
     if
     :: old[x] == LOCKED -> lost = true; break
     :: else ->
        if
        :: atomic { lock[x] == old[x] -> lock[x] = LOCKED }; break
        :: else
        fi
     fi
  od
}

/* Commuting increments meet the values that stand there now, and no other transaction writes these variables. */
inline apply() {
#ifdef COMMUTES
#ifndef M_COMMUTES_EARLY
  if
  :: commutes && COMMUTES_FROM == 0 -> r[0] = value[0]
  :: else
  fi;
  if
  :: commutes -> r[1] = value[1]
  :: else
  fi
#else
  skip
#endif
#else
  skip
#endif
}

/* What a writer reads before it commits. */
inline read_own() {
#ifdef COMMUTES
  if
  :: commutes ->
     limit = clock;
     if
     :: COMMUTES_FROM == 1 && exclusive -> r[0] = value[0]
     :: COMMUTES_FROM == 1 && !exclusive -> read(0)
     :: else
     fi;
#ifdef M_COMMUTES_EARLY
     if :: COMMUTES_FROM == 0 -> r[0] = value[0] :: else fi;
     r[1] = value[1]
#endif
  :: else -> read_both()
  fi
#else
  read_both()
#endif
}

inline commit_shared() {
  lock_it(0);
  if
  :: !lost ->
     lock_it(1);
     if
     :: lost -> lock[0] = old[0]
     :: else ->
        d_step { clock++; now = clock };
#ifndef M_NO_VALIDATION
        /* Both are locked by this writer: the words before that count. */
        if
        :: now != limit + 1 && ((VERSION(old[0]) > limit && !(commutes && COMMUTES_FROM == 0)) ||
                                (VERSION(old[1]) > limit && !commutes)) ->
           lost = true; lock[0] = old[0]; lock[1] = old[1]
        :: else
        fi;
#endif
        if
        :: !lost ->
#ifdef SEE_COMMUTED
           assert(VERSION(old[0]) <= limit);
#endif
           apply();
#ifdef M_EARLY_UNLOCK
           lock[0] = 2 * now; lock[1] = 2 * now;
#endif
           value[0] = r[0] + 1;
           value[1] = r[1] + 1;
#ifndef M_EARLY_UNLOCK
           lock[0] = 2 * now;
           lock[1] = 2 * now;
#endif
#ifndef M_NO_WAKE
           if :: WAITS(old[0]) -> wake(0) :: else fi;
           if :: WAITS(old[1]) -> wake(1) :: else fi
#endif
        :: else
        fi
     fi;
  :: else
  fi;
  now = 0; old[0] = 0; old[1] = 0
}

/* Exclusive: no exchange, versions stay; WAITERS is taken off, and the waiter is woken. */
inline commit_exclusive() {
  apply();
  old[0] = lock[0]; value[0] = r[0] + 1;
  if :: WAITS(old[0]) -> lock[0] = old[0] - 1; wake(0) :: else fi;
  old[1] = lock[1]; value[1] = r[1] + 1;
  if :: WAITS(old[1]) -> lock[1] = old[1] - 1; wake(1) :: else fi;
  old[0] = 0; old[1] = 0
}

proctype Writer(byte me) {
  byte w, limit, now, i, seen_mode, done, before = FIRST_BEFORE;
  byte r[2], old[2];
  bool lost, exclusive;
  do
  :: done == TURNS -> break
  :: else ->
     if
     :: me == 0 && mode == OPEN -> change(me, OPEN, EXCLUSIVE(me))
     :: true
     fi;
     enter(me);
#ifdef SEE_EXCLUSIVE
     assert(!exclusive);
#endif
     lost = false;
     read_own();
     if
     :: lost
     :: else ->
        if
        :: exclusive -> commit_exclusive()
        :: else -> commit_shared()
        fi
     fi;
     if
     :: !lost -> done++
     :: else
     fi;
     d_step { r[0] = 0; r[1] = 0; limit = 0 };
     leave(me)
  od;
  ended++
}

/* --- retrying ---------------------------------------------------------------------------------------------------- */

/* Puts its link into x's bucket, then WAITERS into x's word, unless the word has changed. */
inline enlist(x) {
  linked[x] = true;
  do
  :: w = lock[x];
#ifndef M_NO_CHECK
     if
     :: w == LOCKED || VERSION(w) > limit -> lost = true; break
     :: else
     fi;
#else
     if :: w == LOCKED -> break :: else fi;
#endif
     if
     :: WAITS(w) -> break
     :: else ->
        if
        :: atomic { lock[x] == w -> lock[x] = w + 1 }; break
        :: else
        fi
     fi
  od;
  w = 0
}

proctype Waiter(byte me) {
  byte w, limit, now, i, seen_mode, before = FIRST_BEFORE;
  byte r[2];
  bool lost, exclusive;
  do
  :: enter(me);
     lost = false;
     read_both();
     if
     :: !lost && r[0] == WRITERS * TURNS -> leave(me); break
     :: lost -> leave(me)
     :: else ->
        enlist(0);
        if :: !lost -> enlist(1) :: else fi;
        leave(me);
        if
        :: lost
        :: else ->
#ifdef SEE_SLEEP
           assert(token);
#endif
           token                                            /* sleeps */
        fi;
        atomic { linked[0] = false; linked[1] = false; token = false }
     fi;
     d_step { r[0] = 0; r[1] = 0; limit = 0 }
  od;
  ended++
}

init {
  byte p;
  atomic {
    p = 0;
    do
    :: p < WRITERS -> run Writer(p); p++
    :: else -> break
    od;
    run Waiter(WRITERS);
    p = 0
  }
  ended == ALL;
  assert(value[0] == WRITERS * TURNS && value[1] == value[0])   /* stm_model.S2 */
}
