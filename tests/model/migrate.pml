/* Fibers that migrate: parked, woken, timed out, handed over to a worker that sleeps, ended.
 * Code: sched/detail/migration.cpp, sched/detail/worker.cpp.
 *
 *   state[f]:  RUNNING | WOKEN | PARKED               sched/detail/fiber_state.hpp
 *   home[f]:   a worker, or NO_WORKER on the way
 *   stands[f]: where it is: in a worker's migratable fibers, in its inbox, on the worker, or nowhere (parked)
 *
 * Invariants
 *   G1  A fiber stands in one place, and runs on one worker; it is taken up only after its registers have been saved.
 *   G2  A fiber runs on its home; a wake that enqueues finds a worker as its home. A parked fiber's home does not
 *       change.
 *   G3  A deadline stands in its home's heap while it is set: the worker that takes it out is the one that runs the
 *       fiber.
 *   G4  A fiber's stack goes back to the worker that it came from.
 *   G5  Every fiber ends: no wake is lost, and no worker sleeps on work. No end but the one in which all have ended.
 *
 * Two workers, FIBERS that all begin on worker 0. Each parks PARKS times, with a deadline or without, and yields as
 * often as it likes; forks (pins) are left out. A thread outside wakes each fiber as often as it parks, whenever that
 * may be; so may its time be over, if it has a deadline.
 */
#ifndef FIBERS
#define FIBERS 2
#endif
#ifndef PARKS
#define PARKS 1
#endif

#define NO_WORKER  2
#define RUNNING 0
#define WOKEN   1
#define PARKED  2

#define NOWHERE 0
#define READY   1       /* in its worker's migratable fibers */
#define INBOX    2
#define ON      3       /* on a worker */

byte state[FIBERS];
byte home[FIBERS];      /* 0 at first */
byte first_worker[FIBERS];
byte stands[FIBERS] = READY;
byte at[FIBERS];        /* of READY, INBOX and ON: the worker */
bool saved[FIBERS] = true;
bool ended_away[FIBERS];
byte heap[FIBERS] = NO_WORKER;  /* the worker in whose heap its deadline stands */
byte parks[FIBERS];
byte due[FIBERS];       /* parks that ask for a wake */

bool asleep[2];         /* the inbox's word says so */
bool bits[2];           /* sleepers.hpp */
bool token[2];
bool anything[2];       /* in the inbox: a fiber, or an unpark */
byte ended;
bool stopping;

/* Inbox: the push, and what it owes. */
inline send(f, w) {
  atomic {
    assert(stands[f] == NOWHERE);                          /* G1 */
    stands[f] = INBOX; at[f] = w; anything[w] = true;
    if
    :: asleep[w] -> asleep[w] = false; token[w] = true
    :: else
    fi
  }
}

inline unpark(w) {
  atomic {
    anything[w] = true;
    if
    :: asleep[w] -> asleep[w] = false; token[w] = true
    :: else
    fi
  }
}

inline end_of(f, me) {
  d_step { assert(first_worker[f] == me); ended++; stands[f] = NOWHERE };   /* G4 */
  if
  :: ended == FIBERS -> stopping = true; unpark(0); unpark(1)
  :: else
  fi
}

inline drain(me) {
  f = 0;
  d_step { anything[me] = false; asleep[me] = false };
  do
  :: f == FIBERS -> break
  :: else ->
     if
     :: stands[f] == INBOX && at[f] == me ->
        stands[f] = NOWHERE;
        if
        :: ended_away[f] -> end_of(f, me)
        :: else ->
#ifndef M_HOME_KEPT
           home[f] = me;
#endif
           stands[f] = READY; at[f] = me
        fi
     :: else
     fi;
     f++
  od;
  f = 0
}

/* Of those that are ready here, one by one, as long as another one is left and a worker sleeps. */
inline hand_over(me) {
  f = 0;
  do
  :: f == FIBERS || !bits[1 - me] -> break
  :: else ->
     d_step {
       others = 0; g = 0;
       do
       :: g == FIBERS -> break
       :: g < FIBERS && stands[g] == READY && at[g] == me -> others++; g++
       :: else -> g++
       od;
       g = 0
     };
     if
#ifndef M_HANDS_DEADLINES
     :: stands[f] == READY && at[f] == me && others > 1 && heap[f] == NO_WORKER ->
#else
     :: stands[f] == READY && at[f] == me && others > 1 ->
#endif
        if
        :: atomic { bits[1 - me] -> bits[1 - me] = false };  /* the claim */
           d_step { stands[f] = NOWHERE; home[f] = NO_WORKER };
#ifdef M_NO_UNPARK
           atomic { stands[f] = INBOX; at[f] = 1 - me; anything[1 - me] = true };
#else
           send(f, 1 - me);
#endif
#ifdef SEE_HANDED
           assert(false);
#endif
        :: else
        fi
     :: else
     fi;
     f++
  od;
  f = 0; others = 0
}

inline expire(me) {
  f = 0;
  do
  :: f == FIBERS -> break
  :: f < FIBERS && heap[f] == me ->                        /* its time is over, or not yet */
     if
     :: true ->
        heap[f] = NO_WORKER;
        if
        :: atomic { state[f] == PARKED -> state[f] = RUNNING };
           assert(home[f] == me && stands[f] == NOWHERE);  /* G3 */
           due[f] = 0;
           stands[f] = READY; at[f] = me
#ifdef M_EXPIRES_TWICE
        :: state[f] != PARKED -> assert(stands[f] == NOWHERE); stands[f] = READY; at[f] = me
#else
        :: else                                            /* woken already, and under way */
#endif
        fi
     :: true
     fi;
     f++
  :: else -> f++
  od;
  f = 0
}

/* One stretch of a fiber on its worker. */
inline run_it(me) {
  d_step {
    assert(saved[r] && home[r] == me);                     /* G1, G2 */
    stands[r] = ON; saved[r] = false
  };
  if
  :: heap[r] != NO_WORKER ->                                  /* park_until() returns: its deadline is taken out */
     d_step { assert(heap[r] == me); heap[r] = NO_WORKER }    /* G3 */
  :: else
  fi;
  if
  :: parks[r] == PARKS ->
     d_step { saved[r] = true; stands[r] = NOWHERE };      /* over: it runs no more */
#ifndef M_STACK_STAYS
     if
     :: first_worker[r] != me -> ended_away[r] = true; home[r] = NO_WORKER; send(r, first_worker[r])
     :: else -> end_of(r, me)
     fi
#else
     end_of(r, me)
#endif
  :: parks[r] < PARKS ->                                   /* yields: ready, and then saves its registers */
     d_step { stands[r] = READY; at[r] = me };
#ifdef M_HANDS_OVER_IN_FIBER
     hand_over(me);
#endif
     saved[r] = true
  :: parks[r] < PARKS ->
     atomic { parks[r]++; due[r] = 1 };
     if
     :: atomic { state[r] == WOKEN -> state[r] = RUNNING };  /* run_again */
        d_step { saved[r] = true; stands[r] = READY; at[r] = me }
     :: else ->
        atomic {
          if
          :: state[r] == RUNNING -> state[r] = PARKED; stands[r] = NOWHERE; t = 1
          :: else -> state[r] = RUNNING; t = 0
          fi
        };
        if
        :: t == 1 ->
           if
           :: heap[r] = me                                 /* with a deadline: after the commit, as in park_until() */
           :: true
           fi;
           saved[r] = true
        :: else -> d_step { saved[r] = true; stands[r] = READY; at[r] = me }
        fi;
        t = 0
     fi
  fi
}

inline find_ready(me) {
  d_step {
    f = 0;
    do
    :: f == FIBERS -> break
    :: f < FIBERS && stands[f] == READY && at[f] == me -> break
    :: else -> f++
    od
  }
}

proctype Worker(byte me) {
  byte f, g, r, others, t;
  do
  :: stopping -> break
  :: else ->
     if
     :: anything[me] -> drain(me)
     :: else
     fi;
     expire(me);
     hand_over(me);
     find_ready(me);
     if
     :: f < FIBERS -> r = f; f = 0; run_it(me); r = 0
     :: else ->
        f = 0;
        /* sleep() */
        atomic {
          if
          :: !anything[me] -> asleep[me] = true
          :: else
          fi
        };
        if
        :: asleep[me] || token[me] ->
           bits[me] = true;
           if
           :: stopping
           :: atomic { token[me] -> token[me] = false }
           :: (heap[0] == me || heap[FIBERS - 1] == me)    /* until its first deadline */
           fi;
           bits[me] = false;
           token[me] = false;
           drain(me)
        :: else
        fi
     fi
  od
}

/* Wakes each fiber whenever it likes, and after each park. */
proctype Outside() {
  byte f, h;
  bool enqueue;
  do
  :: ended == FIBERS -> break
  :: else ->
     if
     :: atomic { due[0] > 0 -> due[0] = 0; f = 0 }
     :: atomic { due[FIBERS - 1] > 0 -> due[FIBERS - 1] = 0; f = FIBERS - 1 }
     :: ended == FIBERS -> break
     fi;
     atomic {
       if
       :: state[f] == PARKED -> state[f] = RUNNING; enqueue = true
       :: else -> state[f] = WOKEN; enqueue = false
       fi
     };
     if
     :: enqueue ->
        h = home[f];
        assert(h != NO_WORKER);                               /* G2 */
#ifdef M_WAKES_ANYWHERE
        h = 1 - h;
#endif
        send(f, h)
     :: else
     fi;
     f = 0; h = 0; enqueue = false
  od
}

init {
  atomic { run Worker(0); run Worker(1); run Outside() };
  ended == FIBERS;
  assert(ended == FIBERS)
}
