/* The inbox of a worker, and the owner that sleeps on it.
 *
 *   word:  0 empty | 1 asleep | 2 + newest node -> next -> ... -> oldest node
 *
 * Invariants
 *   I1  A node is at home with its pusher, in the chain, or with the owner: never twice, never lost.
 *   I2  While the owner sleeps for good, the word is `asleep` and no pusher owes a wake.
 *   I3  take_all() is never called while the word is `asleep` (the contract in inbox.hpp).
 *   I4  Nodes of one pusher are taken in the order in which it pushed them.
 *   I5  No pusher touches the parker after the owner has left.
 *
 * Every load, store, exchange and compare-and-swap of inbox.hpp is one step, and so is every step of the
 * parker: a futex and a token. A pusher has NODES nodes and pushes PUSHES times: a node that has been taken
 * comes back and is pushed again, so a compare-and-swap may succeed on a word that has changed in between.
 *
 * Memory is sequentially consistent here. Orderings are argued in inbox.hpp, and tested elsewhere.
 *
 * SPURIOUS returns of park() without a token (a time-out, a signal) may happen; they are few, so that they cannot
 * hide a lost wake-up, which then shows as an invalid end state.
 */
#ifndef PUSHERS
#define PUSHERS 2
#endif
#ifndef NODES
#define NODES 1
#endif
#ifndef PUSHES
#define PUSHES 2
#endif
#ifndef SPURIOUS
#define SPURIOUS 1
#endif

#define EMPTY  0
#define ASLEEP 1
#define ALL    (PUSHERS * NODES)

byte word = EMPTY;
byte next[ALL + 2];      /* indexed like the word: node n is n + 2 */
byte stamp[ALL + 2];     /* what the node carries: the how-manieth push of its pusher it is; 0 at home */
byte taken[PUSHERS];     /* pushes of each pusher that the owner has unloaded */

bool token;              /* the parker: set by unpark(), consumed by park() */
bool on_futex;           /* the kernel's queue: the owner sleeps in it */
bool left;               /* the owner has gone, and its parker with it */
byte gone;               /* pushers whose last push() has returned */
byte spurious = SPURIOUS;

#define PUSHER_OF(n) (((n) - 2) / NODES)

/* --- the parker ------------------------------------------------------------------------------------------------ */

inline unpark() {
  assert(!left);                                     /* I5 */
#ifndef M_NO_TOKEN
  token = true;
  assert(!left);                                     /* I5: the futex call comes after the store */
#endif
  on_futex = false
}

inline park() {
  do
#ifndef M_NO_TOKEN
  :: atomic { token -> token = false };
#ifdef SEE_LATE_WAKE
     assert(word != ASLEEP);                        /* a wake that comes after its work is done: harmless, must occur */
#endif
     break
  :: atomic { !token -> on_futex = true };           /* futex_wait compares and sleeps in one step */
#else
  :: on_futex = true;
#endif
     if
     :: !on_futex -> skip
     :: atomic { spurious > 0 -> spurious--; on_futex = false }; break
     fi;
#ifdef M_NO_TOKEN
     break
#endif
  od
}

/* --- the pushers ------------------------------------------------------------------------------------------------ */

proctype Pusher(byte me) {
  byte n, seen, count = 0;
  bool owes;
  do
  :: count == PUSHES -> gone++; break
  :: else ->
     atomic {                                        /* any node that is at home */
       select (n : 0 .. NODES - 1);
       n = n + 2 + me * NODES;
       stamp[n] == 0 -> count++; stamp[n] = count
     };
     seen = word;
     do
     :: next[n] = (seen == ASLEEP -> 0 : seen);
#ifdef M_PUSH_STORES
        word = n; owes = (seen == ASLEEP); break
#else
        atomic {
          if
          :: word == seen -> word = n; owes = (seen == ASLEEP); break
          :: else -> seen = word
          fi
        }
#endif
     od;
#ifdef M_NO_WAKE
     owes = false;
#endif
     if
     :: owes -> unpark(); owes = false
     :: else
     fi;
     atomic { n = 0; seen = 0 }
  od
}

/* --- the owner ------------------------------------------------------------------------------------------------- */

inline unload_all() {                                /* the chain is the owner's: its walk is invisible, one step */
  d_step {
    oldest = 0;
    do
    :: newest != 0 -> following = next[newest]; next[newest] = oldest; oldest = newest; newest = following
    :: else -> break
    od;
    do
    :: oldest != 0 ->
       following = next[oldest];
       assert(stamp[oldest] == taken[PUSHER_OF(oldest)] + 1);    /* I1, I4 */
       taken[PUSHER_OF(oldest)]++;
       got++;
       stamp[oldest] = 0; next[oldest] = 0;                      /* sent home */
       oldest = following
    :: else -> break
    od;
    following = 0
  }
}

proctype Owner() {
  byte newest, oldest, following, got;
  bool armed;
  do
  :: got == PUSHERS * PUSHES -> break
  :: else ->
     /* take_all(): a hint, then the exchange */
     assert(word != ASLEEP);                         /* I3 */
     if
     :: word > ASLEEP ->
        d_step { newest = word; word = EMPTY };
        unload_all()
     :: else ->
#ifdef M_UNARMED
        if                                           /* looks, and sleeps on what it has seen */
        :: word == EMPTY -> park()
        :: else
        fi
#else
        /* arm() */
#ifdef M_ARM_STORES
        armed = (word == EMPTY);
        if
        :: armed -> word = ASLEEP
        :: else
        fi;
#else
        d_step { armed = (word == EMPTY); if :: armed -> word = ASLEEP :: else fi };
#endif
        if
        :: armed ->
           park();
#ifndef M_NO_DISARM
           atomic { if :: word == ASLEEP -> word = EMPTY :: else fi };   /* disarm() */
#endif
           armed = false
        :: else
        fi
#endif
     fi
  od;
#ifndef M_LEAVES_EARLY
  (gone == PUSHERS);                                 /* joins: every push() has returned */
#endif
  left = true
}

init {
  byte i;
  atomic {
    run Owner();
    for (i : 0 .. PUSHERS - 1) { run Pusher(i) }
    i = 0
  }
}

#ifdef LIVE
ltl live { <> left }
#endif
