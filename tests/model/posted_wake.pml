/* Wakes of a fiber that stays on its worker, done by other threads, while its block is used again.
 * Code: sched/detail/remote.cpp (post_wake, pass_on_wake), sched/detail/arrivals.cpp (wake_posted),
 * sched/detail/shared.cpp (~shared), sched/detail/posted_wake.hpp, sched/detail/inbox.hpp.
 *
 *   home        the worker of the fiber that the block belongs to, or NONE
 *   under_way   posted_wake's word
 *   listed[w]   the block's wake lies in the inbox of w
 *   closed[w]   that worker is gone
 *
 * Invariants
 *   P1  The wake lies in one inbox at most.
 *   P2  Every fiber that is woken ends: no wake is lost, though its caller was told that another one is under way.
 *   P3  In the end no wake is under way: the block's next fiber can be woken.
 *
 * The block belongs to a fiber of worker 0, and then to one of worker SECOND, which is worker 1, or worker 0 again
 * after its runtime has ended and another one has begun. Each fiber waits for its own condition, which another thread
 * makes true before it wakes. A third thread wakes the first fiber twice, whenever that may be.
 */
#ifndef SECOND
#define SECOND 1
#endif

#define NONE 2
#define RUNNING 0
#define WOKEN   1
#define PARKED  2

byte home = NONE;
byte state = RUNNING;
bool under_way;
bool listed[2];
bool closed[2] = true;
bool condition[2];      /* of each fiber */
bool known[2];          /* a waker for it */
bool passed_on;

inline post_wake(h, sent) {
  do
  :: atomic { under_way -> break }                          /* claim(): nothing */
  :: atomic { !under_way -> under_way = true };
     h = home; sent = false;
     if
     :: h != NONE ->
        atomic {
          if
          :: closed[h]
          :: else -> assert(!listed[0] && !listed[1]); listed[h] = true; sent = true   /* P1 */
          fi
        }
     :: else
     fi;
     if
     :: sent -> break
     :: else
     fi;
     under_way = false;                                     /* arrive() */
#ifdef M_FORGETS
     break
#else
     h = home;
     if
     :: h == NONE -> break
     :: else ->
        if
        :: closed[h] -> break
        :: else
        fi
     fi
#endif
  od;
  h = 0; sent = false
}

inline pass_on(h, sent) {
#ifndef M_DROPS
  h = home;
  if
  :: h != NONE ->
     if
     :: !closed[h] -> passed_on = true; post_wake(h, sent)
     :: else
     fi
  :: else
  fi
#else
  skip
#endif
}

inline drain(w, h, sent) {
  atomic { assert(listed[w]); listed[w] = false };
  under_way = false;
  if
  :: home == w ->
     if
     :: state == PARKED -> state = RUNNING
     :: else -> state = WOKEN
     fi
  :: else -> pass_on(h, sent)
  fi
}

/* The fiber f on worker w, from its start to its end. */
inline run_fiber(f, w, h, sent) {
  home = w; known[f] = true;
  do
  :: condition[f] -> break
  :: listed[w] -> drain(w, h, sent)                         /* others run meanwhile */
  :: !condition[f] ->
     if
     :: state == WOKEN -> state = RUNNING
     :: else ->
        state = PARKED;
        do
        :: state != PARKED -> break
        :: state == PARKED && listed[w] -> drain(w, h, sent)
        od
     fi
  od;
  home = NONE
}

inline end_runtime(w, h, sent) {
  do                                                        /* other fibers run, or none */
  :: listed[w] -> drain(w, h, sent)
  :: break
  od;
#ifdef M_LEAVES
  closed[w] = true
#else
  atomic { closed[w] = true; was = listed[w]; listed[w] = false };
  if
  :: was -> under_way = false; pass_on(h, sent)
  :: else
  fi
#endif
}

byte ended;             /* fibers */

/* Created first: a process is gone once all that were created after it are. */
active proctype check() {
  _nr_pr == 1 ->
  assert(!under_way && !listed[0] && !listed[1]);           /* P3 */
#ifdef SEE_PASSED_ON
  assert(!passed_on)
#endif
}

active proctype first_worker() {
  byte h; bool sent, was;
  closed[0] = false;
  run_fiber(0, 0, h, sent);
  ended = 1;
  end_runtime(0, h, sent)
#if SECOND == 0
  ;
  closed[0] = false;
  run_fiber(1, 0, h, sent);
  ended = 2;
  end_runtime(0, h, sent)
#endif
}

#if SECOND == 1
active proctype second_worker() {
  byte h; bool sent, was;
  closed[1] = false;
  ended == 1;
  run_fiber(1, 1, h, sent);
  ended = 2;
  end_runtime(1, h, sent)
}
#endif

active [2] proctype waker() {
  byte h; bool sent;
  byte f = _pid - SECOND - 2;
  known[f];
  condition[f] = true;
  post_wake(h, sent)
}

active proctype late() {
  byte h; bool sent;
  known[0];
  post_wake(h, sent);
  post_wake(h, sent)
}
