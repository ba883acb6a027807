/* Termination by counted end marks where goods take two hops over a grid of workers.
 *
 *      0 --row-- 1     a good from 0 for 3 goes along its row to 1, and from there down the column; a good for the own
 *      |         |     row or column goes straight. With D = 3 the last row is not full: goods from 2 for 1 have no
 *      2 --row-- 3     place in their row to turn, so they go up the column first.
 *
 *   worker, m:  open --all its PEs done, m-1 terminated here--> A-marked
 *              --A-marks in, all first hops received--> B-marked
 *              --B-marks in, all second hops handled--> terminated
 *
 * Rules (the protocol)
 *   H1  A worker counts apart, for each lane, the goods that begin there (first hops, A) and those that it sends on
 *       (second hops, B). Its neighbours are the workers of its row and column.
 *   H2  When its PEs are done with m and it has terminated m-1, it sends each neighbour the A-mark of m: the A-count.
 *   H3  When it is A-marked, has the A-marks of all neighbours and has received as many first hops as they and its own
 *       lane announce, each handled or sent on, it sends each neighbour the B-mark of m: the B-count.
 *   H4  When it is B-marked, has all B-marks and has handled as many second hops as they announce, it terminates m.
 *   H5  Counts of what has come only grow; what is announced starts again from zero. n epochs have n marks a neighbour.
 *   H6  After the last mailbox: the dissemination barrier, then finish() returns (as in end_marks.pml, PES = 1).
 *
 * Properties
 *   P1  When finish() returns anywhere, every PE has said done, every mailbox is terminated on every worker, and no
 *       good of the epoch is under way; none is put later.
 *   P2  A good is handled, and sent on, in its own epoch of its mailbox: not after termination, not counted in an older
 *       one.
 *   P3  The only end is all workers back from their last finish(), and no good under way. No step can be undone, so the
 *       graph of states has no cycle; with LIVE, the same as a formula under weak fairness.
 *   Lemmas, not checked in mutants, so that a mutant fails by a property:
 *   L1  Nothing is put after the A-mark, nothing sent on after the B-mark.
 *   L2  A mark never meets its elder on its way.
 *   L3  At the end all marks have come, all counts agree, and no mark or token is under way.
 *
 * What arrives, arrives in any order and at any time. In an epoch all programs together put at most GOODS goods,
 * anywhere; a handler of m makes none or one for m+1, for any worker.
 */
#ifndef D
#define D 4                      /* workers: 4 or 3, two a row */
#endif
#ifndef M
#define M 2
#endif
#ifndef GOODS
#define GOODS 1
#endif
#ifndef GOODS_AGAIN
#define GOODS_AGAIN 0
#endif
#ifndef EPOCHS
#define EPOCHS 2
#endif
#define ROUNDS 2

#define ROW_TURN(s,t)  ((s) / 2 * 2 + (t) % 2)          /* in the row of s, the column of t */
#define STRAIGHT(s,t)  ((s) / 2 == (t) / 2 || (s) % 2 == (t) % 2)
#define VIA(s,t)       (STRAIGHT(s,t) -> (t) : (ROW_TURN(s,t) < D -> ROW_TURN(s,t) : ROW_TURN(t,s)))
#define NEIGHBOURS(d)  (D == 4 || (d) == 0 -> 2 : 1)

#define AT(d,m)        ((d) * M + (m))
#define LANE(s,t,m)    (((s) * D + (t)) * M + (m))
#define FIRST(v,t,m,e) ((((v) * D + (t)) * M + (m)) * EPOCHS + (e))
#define SECOND(t,m,e)  (((t) * M + (m)) * EPOCHS + (e))

/* Under way; e, the epoch, is there for the properties. */
byte first[D * D * M * EPOCHS];  /* on the first hop, to v, and for t in the end */
byte second[D * M * EPOCHS];     /* on the second hop, to t */
byte a_mark[D * D * M];          /* from s to t; 0: none; else 1 + count */
byte b_mark[D * D * M];
byte token[D * ROUNDS];

/* A worker's own. */
mtype = { open, a_marked, b_marked };
mtype stage[D * M] = open;
bit done[D * M];
byte a_put[D * D * M];           /* goods that begin here, by lane, since they were last announced */
byte b_put[D * D * M];           /* goods sent on, by lane, since they were last announced */
byte a_in[D * M], b_in[D * M];   /* received first hops; handled second hops */
byte a_said[D * M], b_said[D * M];     /* announced */
byte a_marks[D * M], b_marks[D * M];   /* received */
byte mailbox[D];                 /* first mailbox not terminated; M: in the barrier */
byte round[D];
byte finished[D];

byte phase[D];                   /* mailboxes the programs of d are done with; M: in finish() */
byte epoch[D];

byte spare[EPOCHS], live[EPOCHS], returned[EPOCHS];
byte term[D * M];

#ifdef MUTANT
#define LEMMA(x) skip
#else
#define LEMMA(x) assert(x)
#endif

inline put(s, to, m, e) {
  assert(returned[e] == 0);                                  /* P1 */
  LEMMA(stage[AT(s,m)] == open);                             /* L1 */
  live[e]++;
  a_put[LANE(s,VIA(s,to),m)]++;
  first[FIRST(VIA(s,to),to,m,e)]++
}

inline handle(d, m, e) {
  if
  :: m + 1 < M -> select (x : 0 .. D - 1); put(d, x, m + 1, e)
  :: true
  fi;
  live[e]--;
  x = 0
}

proctype Program(byte d) {
  byte t, m;
end:
  do
  :: atomic { epoch[d] < EPOCHS && phase[d] < M && spare[epoch[d]] > 0 ->
       spare[epoch[d]]--;
#ifndef REQUESTS_ONLY
       select (m : phase[d] .. M - 1);
#endif
       select (t : 0 .. D - 1);
       put(d, t, m, epoch[d]);
       m = 0; t = 0 }
  :: d_step { epoch[d] < EPOCHS && phase[d] < M ->
#ifdef REQUESTS_ONLY                                      /* programs put on mailbox 0, and are done with all at once */
       do
       :: phase[d] < M -> done[AT(d,phase[d])] = 1; phase[d]++
       :: else -> break
       od }
#else
       done[AT(d,phase[d])] = 1; phase[d]++ }
#endif
  :: d_step { phase[d] == M && finished[d] > epoch[d] ->     /* finish() returns: P1 */
       assert(live[epoch[d]] == 0);
       do
       :: m < D -> assert(epoch[m] > epoch[d] || (epoch[m] == epoch[d] && phase[m] == M)); m++
       :: else -> break
       od;
       m = 0;
       do
       :: m < D * M -> assert(term[m] > epoch[d]); m++
       :: else -> break
       od;
       m = 0;
       returned[epoch[d]]++;
       epoch[d]++;
       phase[d] = 0 }
  od
}

proctype FirstHop(byte d, t, m, e) {
  byte x;
end:
  do
  :: atomic { first[FIRST(d,t,m,e)] > 0 ->
       first[FIRST(d,t,m,e)]--;
       assert(term[AT(d,m)] == e);                           /* P2 */
#ifdef SEE_NEXT_EPOCH_IN_BARRIER
       assert(finished[d] == e);                             /* must occur */
#endif
       a_in[AT(d,m)]++;
       if
       :: t != d ->
          LEMMA(stage[AT(d,m)] != b_marked);                 /* L1 */
#ifndef M_SENT_ON_UNCOUNTED
          b_put[LANE(d,t,m)]++;
#endif
          second[SECOND(t,m,e)]++
       :: else -> handle(d, m, e)
       fi }
  od
}

proctype SecondHop(byte d, m, e) {
  byte x;
end:
  do
  :: atomic { second[SECOND(d,m,e)] > 0 ->
       second[SECOND(d,m,e)]--;
       assert(term[AT(d,m)] == e);                           /* P2 */
#ifdef SEE_GOOD_AFTER_MARKS
       assert(b_marks[AT(d,m)] < NEIGHBOURS(d));             /* marks overtake the good that they count: must occur */
#endif
       b_in[AT(d,m)]++;
       handle(d, m, e) }
  od
}

#define A_MARKS(d,m) (a_marks[AT(d,m)] == NEIGHBOURS(d) * (term[AT(d,m)] + 1))
#define B_MARKS(d,m) (b_marks[AT(d,m)] == NEIGHBOURS(d) * (term[AT(d,m)] + 1))
#define A_GOODS(d,m) (a_in[AT(d,m)] == a_said[AT(d,m)])
#define B_GOODS(d,m) (b_in[AT(d,m)] == b_said[AT(d,m)])

#ifdef M_B_AT_DONE                 /* B-marks together with the A-marks */
#define MAY_B(d,m) (true)
#endif
#ifdef M_B_AT_A_MARKS              /* B-marks once the A-marks are in, first hops or not */
#define MAY_B(d,m) A_MARKS(d,m)
#endif
#ifdef M_B_WITHOUT_A_MARKS         /* B-marks once counts agree, without waiting for A-marks */
#define MAY_B(d,m) A_GOODS(d,m)
#endif
#ifndef MAY_B
#define MAY_B(d,m) (A_MARKS(d,m) && A_GOODS(d,m))
#endif
#ifdef M_NO_B_MARKS
#define MAY_END(d,m) B_GOODS(d,m)
#endif
#ifdef M_B_COUNTLESS
#define MAY_END(d,m) B_MARKS(d,m)
#endif
#ifndef MAY_END
#define MAY_END(d,m) (B_MARKS(d,m) && B_GOODS(d,m))
#endif

/* One step of the walk over the neighbours to mark; a macro, as an inline takes no array. */
#define MARK(put_on, mark) \
     LEMMA(mark[LANE(d,t,m)] == 0);                          /* L2 */ \
     mark[LANE(d,t,m)] = 1 + put_on[LANE(d,t,m)]; \
     put_on[LANE(d,t,m)] = 0                                 /* H5 */

inline enter_round(d, k) {
  round[d] = k;
  if
  :: k < ROUNDS -> token[((d + (1 << k)) % D) * ROUNDS + k]++
  :: else -> round[d] = 0; mailbox[d] = 0; finished[d]++
  fi
}

proctype Marks(byte s, d, m) {                               /* a mark from s arrives */
end:
  do
  :: d_step { a_mark[LANE(s,d,m)] > 0 ->
       a_said[AT(d,m)] = a_said[AT(d,m)] + a_mark[LANE(s,d,m)] - 1; a_marks[AT(d,m)]++; a_mark[LANE(s,d,m)] = 0 }
  :: d_step { b_mark[LANE(s,d,m)] > 0 ->
       b_said[AT(d,m)] = b_said[AT(d,m)] + b_mark[LANE(s,d,m)] - 1; b_marks[AT(d,m)]++; b_mark[LANE(s,d,m)] = 0 }
  od
}

proctype Mailbox(byte d, m) {
  byte t;
end:
  do
  :: d_step { mailbox[d] == m && stage[AT(d,m)] == open && done[AT(d,m)] ->               /* H2 */
       stage[AT(d,m)] = a_marked;
       do
       :: t < D && t != d && STRAIGHT(d,t) -> MARK(a_put, a_mark); t++
       :: t < D && (t == d || !STRAIGHT(d,t)) -> t++
       :: else -> break
       od;
       t = 0;
#ifndef M_OWN_LANE_FORGOTTEN
       a_said[AT(d,m)] = a_said[AT(d,m)] + a_put[LANE(d,d,m)];
#endif
       a_put[LANE(d,d,m)] = 0 }
  :: d_step { stage[AT(d,m)] == a_marked && MAY_B(d,m) ->    /* H3 */
       stage[AT(d,m)] = b_marked;
       do
       :: t < D && t != d && STRAIGHT(d,t) -> MARK(b_put, b_mark); t++
       :: t < D && (t == d || !STRAIGHT(d,t)) -> t++
       :: else -> break
       od;
       t = 0 }
  :: d_step { stage[AT(d,m)] == b_marked && MAY_END(d,m) ->  /* H4 */
       stage[AT(d,m)] = open;
       done[AT(d,m)] = 0;
       term[AT(d,m)]++;
       mailbox[d]++;
       if
       :: m == M - 1 ->
#ifdef M_NO_BARRIER
          mailbox[d] = 0; finished[d]++
#else
          enter_round(d, 0)
#endif
       :: else
       fi }
  od
}

proctype Barrier(byte d) {
  byte k;
end:
  do
  :: d_step { mailbox[d] == M && token[d * ROUNDS + round[d]] > 0 ->
       token[d * ROUNDS + round[d]]--;
       k = round[d] + 1;
       enter_round(d, k);
       k = 0 }
  od
}

bit over;

init {
  byte d, t, m, e;
  atomic {
    spare[0] = GOODS;
#if EPOCHS > 1
    spare[1] = GOODS_AGAIN;
#endif
    for (d : 0 .. D - 1) {
      run Program(d);
      run Barrier(d);
      for (m : 0 .. M - 1) {
        run Mailbox(d, m);
        for (t : 0 .. D - 1) {
          if
          :: t != d && STRAIGHT(t,d) -> run Marks(t, d, m)
          :: else
          fi
        }
        for (e : 0 .. EPOCHS - 1) {
          run SecondHop(d, m, e);
          for (t : 0 .. D - 1) {
            if
            :: STRAIGHT(d,t) -> run FirstHop(d, t, m, e)
            :: else
            fi
          }
        }
      }
    }
    d = 0; t = 0; m = 0; e = 0
  }
#ifdef LIVE
  (returned[EPOCHS - 1] == D);
  over = 1
#else
  timeout ->                                                 /* P3: nothing can move any more */
  atomic {
    for (d : 0 .. D - 1) {
      assert(epoch[d] == EPOCHS && finished[d] == EPOCHS && mailbox[d] == 0);
      for (m : 0 .. M - 1) {
        LEMMA(stage[AT(d,m)] == open && !done[AT(d,m)]);     /* L3 */
        LEMMA(A_GOODS(d,m) && B_GOODS(d,m));
        LEMMA(a_marks[AT(d,m)] == EPOCHS * NEIGHBOURS(d) && b_marks[AT(d,m)] == EPOCHS * NEIGHBOURS(d))
      }
      for (m : 0 .. ROUNDS - 1) { LEMMA(token[d * ROUNDS + m] == 0) }
    }
    for (e : 0 .. EPOCHS - 1) { assert(live[e] == 0) }
  }
#endif
}

#ifdef LIVE
ltl live { <> over }
#endif
