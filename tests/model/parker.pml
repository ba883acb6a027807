/* A worker that sleeps on a futex, or on descriptors with a wake_fd (sched/detail/parker.hpp), behind its inbox.
 *
 *   inbox:   EMPTY | ASLEEP | LIST                    sched/detail/inbox.hpp
 *   token:   0 | 1 | AWAY | AWAY + 1                  sched/detail/parker.hpp
 *   wake_fd: an eventfd, readable or not; readable: the poller's descriptor
 *
 * Invariants
 *   P1  Everything sent is taken, and all that the descriptor tells of is polled: no end but the one in which that is
 *       so.
 *   P2  The worker does not run in circles: a token or a write wakes it once (`stops`: no cycle).
 *
 * SENDERS push SENDS times each; the system makes the descriptor readable EVENTS times. While events are to come the
 * owner sleeps on the descriptor (park_on); afterwards in either way, like a worker whose poller was detached. Each
 * exchange, look and system call is a step. SPURIOUS sleeps end because their time is over.
 */
#ifndef SENDERS
#define SENDERS 2
#endif
#ifndef SENDS
#define SENDS 1
#endif
#ifndef EVENTS
#define EVENTS 1
#endif
#ifndef SPURIOUS
#define SPURIOUS 0
#endif

#define EMPTY  0
#define ASLEEP 1
#define LIST   2
#define AWAY   2

byte inbox = EMPTY;
byte nodes;           /* in the list */
byte token;
bool wake_fd;
bool readable;
bool on_futex;        /* the owner lies in the futex's queue */
byte to_come = EVENTS;
byte late = SPURIOUS;
byte taken, polled;
bool left;

proctype Sender() {
  byte sends, before;
  do
  :: sends == SENDS -> break
  :: else ->
     atomic { before = inbox; inbox = LIST; nodes++ };
     if
     :: before == ASLEEP ->
        atomic { before = token; token = token | 1 };
        if
#ifndef M_NEVER_WRITES
        :: before >= AWAY -> wake_fd = true
#endif
#ifdef M_NEVER_WRITES
        :: true -> on_futex = false
#else
        :: before < AWAY -> on_futex = false
#endif
        fi
     :: else
     fi;
     before = 0;
     sends++
  od
}

/* The system: each time that there is something to poll the descriptor is readable, until it was polled. */
proctype System() {
  do
  :: atomic { to_come > 0 && !readable -> readable = true; to_come-- }
  :: to_come == 0 -> break
  od
}

inline drain() {
  atomic {
    taken = taken + nodes; nodes = 0;
    inbox = EMPTY
  }
}

inline poll() {
  atomic {
    if
    :: readable -> readable = false; polled++
    :: else
    fi
  }
}

inline its_time_is_over() { atomic { late > 0 -> late-- } }

inline park() {
  atomic { t = token; token = 0 };
  if
  :: t == 0 ->
     atomic {
       if
       :: token == 0 -> on_futex = true
       :: else
       fi
     };
     if
     :: !on_futex
     :: its_time_is_over(); on_futex = false
     fi;
     token = 0
  :: else
  fi;
  t = 0
}

inline park_on() {
#ifdef M_AWAY_STORES
  t = token;                       /* no exchange: a token that comes now is overwritten */
  token = AWAY;
#else
  atomic { t = token;
#ifndef M_NOT_AWAY
           token = AWAY
#else
           token = 0
#endif
  };
#endif
  if
#ifndef M_TOKEN_UNSEEN
  :: t == 1 -> token = 0
#endif
#ifdef M_TOKEN_UNSEEN
  :: true ->
#else
  :: t != 1 ->
#endif
     if                            /* ppoll: what it has found is looked at afterwards */
#ifndef M_WAKE_FD_ALONE
     :: atomic { wake_fd || readable -> woken = wake_fd }
#else
     :: atomic { wake_fd -> woken = wake_fd }
#endif
     :: its_time_is_over(); woken = false
     fi;
     token = 0;
     if
#ifndef M_STAYS_READABLE
     :: woken -> wake_fd = false
#endif
     :: else
     fi
  fi;
  t = 0; woken = false
}

proctype Owner() {
  byte t;
  bool woken, stay;
  do
  :: drain();                      /* look_outside(): the inbox before the poller */
     poll();
     if
     :: taken == SENDERS * SENDS && polled == EVENTS -> break
     :: else
     fi;
     atomic {
       stay = (inbox != EMPTY);
       if
       :: !stay -> inbox = ASLEEP
       :: else
       fi
     };
     if
     :: stay
     :: else ->
        if
        :: polled == EVENTS -> park()
        :: park_on()
        fi
     fi;
     stay = false
  od;
#ifdef SEE_LATE_WRITE
  assert(!wake_fd);
#endif
  left = true
}

init {
  byte i;
  atomic {
    run Owner();
    run System();
    for (i : 1 .. SENDERS) { run Sender() }
  };
  left;
  assert(taken == SENDERS * SENDS && polled == EVENTS)      /* P1 */
}
