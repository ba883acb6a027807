/* Bounded pools of trains, programs that wait, handlers that do not.
 *
 *   program --request--> class 0 --handler--> class 1 --handler--> ... --> class KINDS-1, which makes nothing
 *
 * A good of class k that is unloaded makes one good of class k+1, for any worker, its own one included. A train carries
 * goods of one class. CHANNELS says how classes share channels: class k travels on channel min(k, CHANNELS-1).
 *
 * Rules (the protocol; rail::train_pool and detail::worker)
 *   C1  A program opens a train only while fewer than REGULAR of its worker's trains of channel 0 are out, and one is
 *       left; else it waits, and the worker goes on unloading, and sends its open trains off.
 *   C2  A handler opens a train whenever fewer than LIMIT are out, of all channels.
 *       LIMIT = REGULAR * CHANNELS + BEYOND * (CHANNELS - 1)
 *   C3  Channel k is unloaded only while at most REGULAR trains of channel k+1 are out; the last channel always.
 *   With ONE_COUNT the trains of all channels are counted together: programs open while fewer than REGULAR are out,
 *   channel k is unloaded while at most REGULAR + BEYOND * k are, LIMIT = REGULAR + BEYOND * (CHANNELS - 1).
 *
 * Properties
 *   P1  No handler finds the pool at its limit (assertion): a handler never waits.
 *   P2  No deadlock: the only end is every request sent, every good handled, every train at home. Each step uses
 *       something up (a request, a good under way, a train under way), so the graph of states has no cycle and P2
 *       says that every run ends so. With ENDLESS the programs never stop, and P2 says that no state is stuck.
 *
 * Preconditions that the checks named `limit:` show to be needed
 *   N1  A channel for each class: with fewer, the last channel's handlers send, nothing holds them back, and no LIMIT
 *       is enough. Two hops double the classes.
 *   N2  BEYOND >= min(lanes, goods of a train), for goods that make at most one good each, no larger than themselves.
 *
 * Trains arrive and go home in any order and at any time; a step of a worker is atomic because it is one thread, and
 * others see of it only what it has sent.
 */
#ifndef D
#define D 2                /* workers */
#endif
#ifndef REGULAR
#define REGULAR 1
#endif
#ifndef BEYOND
#define BEYOND 1           /* what the goods of one train make, at worst: see README.md */
#endif
#ifndef GOODS
#define GOODS 1            /* goods a train */
#endif
#ifndef REQUESTS
#define REQUESTS 4         /* that the program of a worker sends */
#endif
#ifndef KINDS
#define KINDS 2            /* request, reply */
#endif
#ifndef CHANNELS
#define CHANNELS 2
#endif

#ifdef M_FORWARD_KEEPS_CHANNEL       /* two hops: what a worker sends on for another stays on its channel */
#define CHANNEL_OF(k)  ((k) / 2)
#else
#define CHANNEL_OF(k)  ((k) < CHANNELS - 1 -> (k) : CHANNELS - 1)
#endif
#define LAST(k)        (CHANNEL_OF(k) == CHANNELS - 1)
#define LANE(s,t,k)    (((s) * D + (t)) * KINDS + (k))
#define TRAIN(s,t,k,n) (LANE(s,t,k) * GOODS + (n) - 1)
#define AT(d,c)        ((d) * CHANNELS + (c))

byte requests[D];                    /* that the program still has to send */
byte out[D * CHANNELS];              /* trains of a worker that are not at home, by channel */
byte all[D];                         /* the same, of all channels */
byte home[D * CHANNELS];             /* of those, how many are empty and on their way back */
byte open[D * D * KINDS];            /* goods in the open train of a lane; 0: none is open */
byte away[D * D * KINDS * GOODS];    /* trains under way or waiting at their destination, by lane and load */

#ifdef ONE_COUNT
#define LIMIT        (REGULAR + BEYOND * (CHANNELS - 1))
#define OPENABLE(d)  (all[d] < REGULAR)
#define AT_EASE(d,k) (all[d] <= REGULAR + BEYOND * CHANNEL_OF(k))
#else
#define LIMIT        (REGULAR * CHANNELS + BEYOND * (CHANNELS - 1))
#define OPENABLE(d)  (out[AT(d,0)] < REGULAR && all[d] < LIMIT)
#define AT_EASE(d,k) (out[AT(d,CHANNEL_OF(k) + 1)] <= REGULAR)
#endif

/* C3. The mutants close or open gates. */
#ifdef M_NO_GATE
#define UNLOADABLE(d,k) (true)
#endif
#ifdef M_ALL_GATED                   /* the last channel like the one before it */
#define UNLOADABLE(d,k) (out[AT(d,CHANNELS - 1)] <= REGULAR)
#endif
#ifdef M_LAST_GATED                  /* the last channel waits at the limit, to spare handlers from meeting it */
#define UNLOADABLE(d,k) (all[d] < LIMIT && (LAST(k) || AT_EASE(d,k)))
#endif
#ifdef M_FORWARD_KEEPS_CHANNEL       /* channel 0 makes trains of channel 0 as well, so it asks for both */
#define UNLOADABLE(d,k) (LAST(k) || (out[AT(d,0)] <= REGULAR && AT_EASE(d,k)))
#endif
#ifdef M_HANDLERS_WAIT              /* one pool, no train beyond: a handler that may send needs a regular train first */
#define UNLOADABLE(d,k) (k == KINDS - 1 || all[d] < REGULAR)
#endif
#ifdef M_ONE_CHANNEL                 /* the same, and trains of replies cannot be told from those of requests */
#define UNLOADABLE(d,k) (all[d] < REGULAR)
#endif
#ifndef UNLOADABLE
#define UNLOADABLE(d,k) (LAST(k) || AT_EASE(d,k))
#endif

inline depart(s, t, k) {
  away[TRAIN(s,t,k,open[LANE(s,t,k)])]++;
  open[LANE(s,t,k)] = 0
}

inline load(s, t, k) {
  if
  :: open[LANE(s,t,k)] == 0 ->
     assert(all[s] < LIMIT);         /* P1 */
     all[s]++; out[AT(s,CHANNEL_OF(k))]++
  :: else
  fi;
  open[LANE(s,t,k)]++;
  if
  :: open[LANE(s,t,k)] == GOODS -> depart(s, t, k)
  :: else
  fi
}

/* A train of class k and load n from worker s has come, and is sent home once its goods are handled. */
inline unload(s, me, k, n) {
  away[TRAIN(s,me,k,n)]--;
  i = 0;
  do
  :: i < n && k + 1 < KINDS -> select (t : 0 .. D - 1); load(me, t, k + 1); i++
  :: else -> break
  od;
  home[s]++;
  i = 0; t = 0
}

/* --- the steps of a worker, one process for each kind of step ---------------------------------------------------- */

/* The program of worker s has a request for worker t: C1. */
proctype Program(byte s, t) {
end:
  do
  :: atomic { requests[s] > 0 && (open[LANE(s,t,0)] > 0 || OPENABLE(s)) ->
#ifndef ENDLESS
       requests[s]--;
#endif
       load(s, t, 0) }
  od
}

/* A train of worker s, class k, load n, has come to worker `me`: C3. It goes home once its goods are handled: C2. */
proctype Arrival(byte s, me, k, n) {
  byte i, t;
end:
  do
  :: atomic { away[TRAIN(s,me,k,n)] > 0 && UNLOADABLE(me,k) ->
#ifdef SEE_GATE_MATTERS
       assert(out[AT(me,1)] <= REGULAR);   /* unloading goes on beyond the regular trains: must occur */
#endif
       away[TRAIN(s,me,k,n)]--;
       do
       :: i < n && k + 1 < KINDS -> select (t : 0 .. D - 1); load(me, t, k + 1); i++
       :: else -> break
       od;
       home[AT(s,CHANNEL_OF(k))]++;
       i = 0; t = 0 }
  od
}

/* A train of worker s, channel c, comes home. */
proctype Return(byte s, c) {
end:
  do
  :: d_step { home[AT(s,c)] > 0 -> home[AT(s,c)]--; out[AT(s,c)]--; all[s]-- }
  od
}

/* An open train leaves before it is full: a worker that waits or idles sends its open trains off. */
proctype Flush(byte s, t, k) {
end:
  do
  :: d_step { open[LANE(s,t,k)] > 0 -> depart(s, t, k) }
  od
}

init {
  byte s, t, k, n;
  atomic {
    for (s : 0 .. D - 1) {
      requests[s] = REQUESTS;
      for (k : 0 .. CHANNELS - 1) { run Return(s, k) }
      for (t : 0 .. D - 1) {
        run Program(s, t);
        for (k : 0 .. KINDS - 1) {
          for (n : 1 .. GOODS) { run Arrival(s, t, k, n) }
#ifndef M_NO_FLUSH
          if
          :: GOODS > 1 -> run Flush(s, t, k)
          :: else
          fi
#endif
        }
      }
    }
    s = 0; t = 0; k = 0; n = 0
  }
  timeout ->                         /* nothing can move any more */
#ifdef ENDLESS
  assert(false)                      /* P2 */
#else
  atomic {
    for (s : 0 .. D - 1) { assert(requests[s] == 0 && all[s] == 0) }    /* P2 */
  }
#endif
}
