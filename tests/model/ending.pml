/* The end of a selector by marks of the whole selector, where finish() has a barrier.
 *
 *      0 -- 1 -- 2    workers in a grid of C columns; neighbours are those of a worker's row and column. The last row
 *      |    |         may not be full: D = 5 and C = 3 as drawn. C = D is one row: all are neighbours.
 *      3 -- 4
 *
 *   worker:  busy --its mailboxes have ended here--> ended --marks of all neighbours--> known
 *                 --their second marks--> over;  with one hop: ended --marks of all neighbours--> over
 *
 * Rules (the protocol; termination.hpp)
 *   E1  When all mailboxes have ended here, a worker sends each neighbour its mark of hop 0.
 *   E2  When the marks of hop 0 of all neighbours are in, two hops: it sends each the mark of hop 1; one hop: over.
 *   E3  When the marks of hop 1 of all neighbours are in: over. The future has its value, and the state may go.
 *
 * Properties
 *   P1  When a worker is over, the mailboxes of all workers have ended.
 *   P2  When a worker is over, no mark is under way to it: what may go is never looked for again.
 *   P3  The only end is all workers over, and no mark under way. No step can be undone, so every run comes to its end.
 *
 * Mailboxes end anywhere in any order: that they do is end_marks.pml's and two_hops.pml's. Marks arrive in any order.
 */
#ifndef D
#define D 5
#endif
#ifndef C
#define C 3
#endif
#ifdef M_ONE_HOP
#define HOPS 1                   /* mutant: though the grid has two */
#else
#define HOPS (C < D -> 2 : 1)
#endif

#define NEIGHBOUR(s,t) ((s) != (t) && ((s) / C == (t) / C || (s) % C == (t) % C))
#define MARK(s,t,h)    (((s) * D + (t)) * 2 + (h))

bit ended[D], over[D];
bit mark[D * D * 2];             /* under way, from s to t */
byte came[D * 2];                /* marks that have come, by hop */
byte neighbours[D];
byte all_ended;

inline send_marks(s, h) {
  byte t = 0;
  do
  :: t < D ->
       if
       :: NEIGHBOUR(s, t) -> mark[MARK(s, t, h)] = 1
       :: else
       fi;
       t++
  :: else -> break
  od;
  t = 0
}

#define TAKE(s,h) :: atomic { mark[MARK(s,d,h)] -> assert(!over[d]) /* P2 */; mark[MARK(s,d,h)] = 0; came[d * 2 + h]++ }

proctype worker(byte d) {
  bit said[2];
end:
  do
#ifdef M_EARLY
  :: atomic { !said[0] -> send_marks(d, 0); said[0] = 1 }
  :: atomic { !ended[d] -> ended[d] = 1; all_ended++ }
#else
  :: atomic { !ended[d] -> ended[d] = 1; all_ended++; send_marks(d, 0); said[0] = 1 }  /* E1 */
#endif
  TAKE(0, 0) TAKE(0, 1) TAKE(1, 0) TAKE(1, 1) TAKE(2, 0) TAKE(2, 1)
#if D > 3
  TAKE(3, 0) TAKE(3, 1)
#endif
#if D > 4
  TAKE(4, 0) TAKE(4, 1)
#endif
#ifdef M_SECOND_AT_ONCE
  :: atomic { HOPS == 2 && ended[d] && !said[1] -> send_marks(d, 1); said[1] = 1 }
#else
  :: atomic {                                                        /* E2 */
       HOPS == 2 && ended[d] && !said[1] && came[d * 2] == neighbours[d] -> send_marks(d, 1); said[1] = 1
     }
#endif
#ifdef M_NO_WAIT
  :: atomic { ended[d] && !over[d] ->
#else
  :: atomic { ended[d] && !over[d] && (HOPS == 1 || said[1]) && came[d * 2 + HOPS - 1] == neighbours[d] ->  /* E3 */
#endif
       over[d] = 1;
       assert(all_ended == D)  /* P1 */
     }
  od
}

init {
  byte d = 0, t = 0;
  atomic {
    do
    :: d < D ->
         t = 0;
         do
         :: t < D ->
              if
              :: NEIGHBOUR(d, t) -> neighbours[d]++
              :: else
              fi;
              t++
         :: else -> break
         od;
         d++
    :: else -> break
    od;
    d = 0;
    do
    :: d < D -> run worker(d); d++
    :: else -> break
    od
  }
  timeout;                       /* nothing can go on */
  d = 0;
  do
  :: d < D -> assert(over[d]); d++   /* P3 */
  :: else -> break
  od;
  d = 0;
  do
  :: d < D * D * 2 -> assert(!mark[d]); d++
  :: else -> break
  od
}
