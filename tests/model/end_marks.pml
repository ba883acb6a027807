/* Termination of mailboxes in a stated order by counted end marks, and the barrier that lets the object be used again.
 *
 *   PE:       put* done(0) put* done(1) ... finish()                                     then the next epoch
 *   worker, m:  open --all its PEs done, m's feeders terminated here--> marked
 *               marked --all marks in, all goods handled--> terminated
 *   worker:     last mailbox terminated --> barrier round 0, 1 .. ROUNDS-1 --> finished
 *
 * Rules (the protocol)
 *   E1  A worker counts what its programs and handlers put on each lane, for each mailbox. In state `marked` of m it
 *       has sent each other worker one mark with the count of that lane, and puts nothing more on m.
 *   E2  It terminates m once it has D-1 marks of m, and has handled what they and its own lane announce.
 *   E3  It resets all its counters of m when it terminates m, and at no other time. With COUNTS_GROW it resets only
 *       what it announces, when it has announced it; n epochs have n * (D-1) marks.
 *       The feeders of m are the mailboxes whose handlers put goods on m: m-1, or with JOIN 0 and 1 of mailbox 2.
 *   E4  Barrier: in round k one token to worker (d + 2^k) mod D, and one token of round k to wait for.
 *   E5  finish() of a PE returns once its worker has finished more epochs than the PE has left.
 *
 * Properties
 *   P1  When finish() returns anywhere, every PE has said done, every mailbox is terminated on every worker, and no
 *       good of the epoch is under way; none is put later.
 *   P2  A good is handled in its own epoch of its mailbox: never after termination, never counted in an older epoch.
 *   P3  The only end is all PEs back from their last finish(), and no good under way. No step can be undone, so the
 *       graph of states has no cycle; with LIVE, the same as a formula under weak fairness.
 *   Lemmas, not checked in mutants, so that a mutant fails by a property:
 *   L1  Nothing is put on a mailbox after its mark.   L2  A mark, and a token, never meets its elder on its way.
 *   L3  A mark arrives in its own epoch.   L4  At the end all counters are zero, and no mark or token is under way.
 *
 * Goods, marks and tokens arrive in any order and at any time, so open trains need no states of their own. What a
 * worker does at once when its counters allow it may also come late here: a wider protocol than the code's. Steps are
 * atomic: a worker is one thread. In an epoch all programs together put at most GOODS goods, anywhere; a handler of
 * mailbox m makes none or one for the mailbox that m feeds, for any worker. Epochs after the first have GOODS_AGAIN.
 */
#ifndef D
#define D 2                /* workers */
#endif
#ifndef PES
#define PES 1              /* PEs a worker */
#endif
#ifndef M
#define M 2                /* mailboxes, each fed by the handlers of the one before; JOIN needs 3 */
#endif
#ifndef GOODS
#define GOODS 2
#endif
#ifndef GOODS_AGAIN
#define GOODS_AGAIN 1
#endif
#define EPOCHS 2
#if D == 2
#define ROUNDS 1
#else
#define ROUNDS 2           /* 3 or 4 workers */
#endif
#ifdef M_ONE_ROUND
#define LAST_ROUND 1
#else
#define LAST_ROUND ROUNDS
#endif

#ifdef JOIN
#if M != 3
#error JOIN is of three mailboxes
#endif
#define FEEDS(m)    ((m) < 2)
#define FED_BY(m)   (2)
#ifdef M_ONE_FEEDER                  /* looks at one of two */
#define FEEDERS_ENDED(d,m) ((m) < 2 || ended[AT(d,0)])
#else
#define FEEDERS_ENDED(d,m) ((m) < 2 || (ended[AT(d,0)] && ended[AT(d,1)]))
#endif
#else
#define FEEDS(m)    ((m) + 1 < M)
#define FED_BY(m)   ((m) + 1)
#define FEEDERS_ENDED(d,m) (mailbox[d] >= (m))
#endif

#define AT(d,m)     ((d) * M + (m))
#define LANE(s,t,m) (((s) * D + (t)) * M + (m))
#define GOOD(t,m,e) (((t) * M + (m)) * EPOCHS + (e))

/* Under way. e is the epoch, which no worker knows of a good: it is there for P1 and P2. */
byte goods[D * M * EPOCHS];
byte mark[D * D * M];            /* 0: none; else 1 + count */
bit mark_epoch[D * D * M];
byte token[D * ROUNDS];          /* to worker d, of round k, sent or arrived */

/* A worker's own. */
byte dones[D * M];
bit marked[D * M];
byte put_on[D * D * M];          /* goods put on a lane since the last reset */
byte announced[D * M];
byte marks[D * M];
byte handled[D * M];
bit ended[D * M];                /* terminated in this epoch */
byte mailbox[D];                 /* how many are; M: in the barrier */
byte round[D];                   /* of the barrier; its token is out */
byte finished[D];                /* epochs */

/* A PE's own: PE p of worker d is d * PES + p. */
byte phase[D * PES];             /* mailboxes done; M: in finish() */
byte epoch[D * PES];             /* finishes left */

/* For the properties. */
byte spare[EPOCHS];              /* goods that programs may still put */
byte live[EPOCHS];               /* goods put and not handled */
byte returned[EPOCHS];           /* finishes returned */
byte term[D * M];                /* epochs terminated */

#ifdef MUTANT
#define LEMMA(x) skip
#else
#define LEMMA(x) assert(x)
#endif

inline put(s, t, m, e, channel) {
  assert(returned[e] == 0);                                  /* P1 */
  LEMMA(!marked[AT(s,m)]);                                   /* L1 */
#ifdef M_CHANNEL_0_ONLY
  if
  :: channel == 0 -> put_on[LANE(s,t,m)]++
  :: else
  fi;
#else
  put_on[LANE(s,t,m)]++;
#endif
  live[e]++;
  goods[GOOD(t,m,e)]++
}

/* --- a program's PE --------------------------------------------------------------------------------------------- */

proctype Program(byte d, pe) {
  byte t, m;
end:
  do
  :: atomic { epoch[pe] < EPOCHS && phase[pe] < M && spare[epoch[pe]] > 0 ->
       spare[epoch[pe]]--;
       select (m : phase[pe] .. M - 1);
       select (t : 0 .. D - 1);
       put(d, t, m, epoch[pe], 0);
       m = 0; t = 0 }
  :: d_step { epoch[pe] < EPOCHS && phase[pe] < M ->          /* done(phase) */
       dones[AT(d,phase[pe])]++;
       phase[pe]++ }
  :: d_step { phase[pe] == M &&
#ifdef M_FLAG
       finished[d] > 0 ->
       finished[d] = 0;                                      /* a flag, lowered by the first PE that sees it */
#else
       finished[d] > epoch[pe] ->                            /* E5 */
#endif
       /* finish() returns: P1 */
       assert(live[epoch[pe]] == 0);
       m = 0;
       do
       :: m < D * PES -> assert(epoch[m] > epoch[pe] || (epoch[m] == epoch[pe] && phase[m] == M)); m++
       :: else -> break
       od;
       m = 0;
       do
       :: m < D * M -> assert(term[m] > epoch[pe]); m++
       :: else -> break
       od;
       m = 0;
       returned[epoch[pe]]++;
       epoch[pe]++;
       phase[pe] = 0 }
  od
}

/* --- a worker ----------------------------------------------------------------------------------------------------- */

proctype Goods(byte d, m, e) {                               /* a good of m arrives and is handled */
  byte t;
end:
  do
  :: atomic { goods[GOOD(d,m,e)] > 0 ->
       goods[GOOD(d,m,e)]--;
       assert(term[AT(d,m)] == e);                           /* P2 */
#ifdef SEE_NEXT_EPOCH_IN_BARRIER
       assert(finished[d] == e);                         /* this worker is still in the barrier of before: must occur */
#endif
#ifdef SEE_GOOD_AFTER_MARKS
       assert(marks[AT(d,m)] < D - 1);                       /* marks overtake goods: must occur */
#endif
       if
#ifdef M_RECURSION
       :: m == 0 && spare[e] > 0 -> spare[e]--; select (t : 0 .. D - 1); put(d, t, 0, e, 1)
#endif
       :: FEEDS(m) -> select (t : 0 .. D - 1); put(d, t, FED_BY(m), e, 1)
       :: true
       fi;
       handled[AT(d,m)]++;
       live[e]--;
       t = 0 }
  od
}

proctype Marks(byte s, d, m) {                               /* the mark of m from worker s arrives */
end:
  do
  :: d_step { mark[LANE(s,d,m)] > 0 ->
       LEMMA(term[AT(d,m)] == mark_epoch[LANE(s,d,m)]);      /* L3 */
       announced[AT(d,m)] = announced[AT(d,m)] + mark[LANE(s,d,m)] - 1;
       marks[AT(d,m)]++;
       mark[LANE(s,d,m)] = 0;
       mark_epoch[LANE(s,d,m)] = 0 }
  od
}

#ifdef M_EARLY_CHAIN
#define MAY_MARK(d,m) (!ended[AT(d,m)])
#else
#define MAY_MARK(d,m) (!ended[AT(d,m)] && FEEDERS_ENDED(d,m))
#endif
#ifdef M_UNDONE                      /* does not wait for its own PEs */
#define OWN_SIDE(d,m) (true)
#else
#define OWN_SIDE(d,m) (marked[AT(d,m)])
#endif
#ifdef COUNTS_GROW
#define MARKS_IN(d,m) (marks[AT(d,m)] == (D - 1) * (term[AT(d,m)] + 1))
#else
#define MARKS_IN(d,m) (marks[AT(d,m)] == D - 1)
#endif
#ifdef M_COUNTLESS                   /* trusts that marks arrive after goods */
#define ALL_IN(d,m)   MARKS_IN(d,m)
#else
#ifdef M_ANY_MARKS                   /* counts only, however many marks are in */
#define ALL_IN(d,m)   (handled[AT(d,m)] == announced[AT(d,m)])
#else
#define ALL_IN(d,m)   (MARKS_IN(d,m) && handled[AT(d,m)] == announced[AT(d,m)])
#endif
#endif

inline reset(d, m) {                                         /* E3 */
  dones[AT(d,m)] = 0; marked[AT(d,m)] = 0;
#ifndef COUNTS_GROW
  announced[AT(d,m)] = 0; marks[AT(d,m)] = 0; handled[AT(d,m)] = 0;
#endif
  t = 0;
  do
  :: t < D -> put_on[LANE(d,t,m)] = 0; t++
  :: else -> break
  od;
  t = 0
}

inline begin_epoch(d) {
  mailbox[d] = 0;
  t = 0;
  do
  :: t < M -> ended[AT(d,t)] = 0; t++
  :: else -> break
  od;
  t = 0
}

inline enter_round(d, k) {                                   /* E4 */
  round[d] = k;
  if
  :: k < LAST_ROUND ->
     LEMMA(token[((d + (1 << k)) % D) * ROUNDS + k] == 0);   /* L2 */
     token[((d + (1 << k)) % D) * ROUNDS + k]++
  :: else ->
     round[d] = 0;
     begin_epoch(d);
     finished[d]++
#ifdef M_LATE_RESET
     ; t = 0;
     do
     :: t < M -> m = t; reset(d, m); t = m + 1
     :: else -> break
     od;
     t = 0; m = 0
#endif
  fi
}

proctype Mailbox(byte d, m) {
  byte t;
end:
  do
  :: d_step { MAY_MARK(d,m) && !marked[AT(d,m)] && dones[AT(d,m)] == PES ->
       marked[AT(d,m)] = 1;                                  /* E1 */
       t = 0;
       do
       :: t < D && t != d ->
          LEMMA(mark[LANE(d,t,m)] == 0);                     /* L2 */
          mark[LANE(d,t,m)] = 1 + put_on[LANE(d,t,m)];
          mark_epoch[LANE(d,t,m)] = term[AT(d,m)];
          t++
       :: t == d ->
#ifndef M_NO_OWN_LANE
          announced[AT(d,m)] = announced[AT(d,m)] + put_on[LANE(d,d,m)];
#endif
          t++
       :: else -> break
       od;
       t = 0 }
  :: d_step { !ended[AT(d,m)] && FEEDERS_ENDED(d,m) && OWN_SIDE(d,m) && ALL_IN(d,m) ->     /* E2 */
#ifndef M_LATE_RESET
       reset(d, m);
#endif
       term[AT(d,m)]++;
       ended[AT(d,m)] = 1;
       mailbox[d]++;
       if
       :: mailbox[d] == M ->
#ifdef M_NO_BARRIER
          begin_epoch(d);
          finished[d]++
#else
          enter_round(d, 0)
#endif
       :: else
       fi }
  od
}

proctype Barrier(byte d) {
  byte k, t, m;
end:
  do
  :: d_step { mailbox[d] == M && token[d * ROUNDS + round[d]] > 0 ->
       token[d * ROUNDS + round[d]]--;
       k = round[d] + 1;
       enter_round(d, k);
       k = 0 }
  od
}

#ifdef M_FLAG
#define ALL_FINISHED(d) (true)
#else
#define ALL_FINISHED(d) (finished[d] == EPOCHS)
#endif

bit over;

init {
  byte d, s, m, e;
  atomic {
    spare[0] = GOODS; spare[1] = GOODS_AGAIN;
    for (d : 0 .. D - 1) {
      run Barrier(d);
      for (s : 0 .. PES - 1) { run Program(d, d * PES + s) }
      for (m : 0 .. M - 1) {
        run Mailbox(d, m);
        for (e : 0 .. EPOCHS - 1) { run Goods(d, m, e) }
        for (s : 0 .. D - 1) {
          if
          :: s != d -> run Marks(s, d, m)
          :: else
          fi
        }
      }
    }
    d = 0; s = 0; m = 0; e = 0
  }
#ifdef LIVE
  (returned[EPOCHS - 1] == D * PES);
  over = 1
#else
  timeout ->                                                 /* P3: nothing can move any more */
  atomic {
    for (d : 0 .. D - 1) {
      assert(ALL_FINISHED(d) && mailbox[d] == 0);
      for (s : 0 .. PES - 1) { assert(epoch[d * PES + s] == EPOCHS) }
      for (m : 0 .. M - 1) {
#ifdef COUNTS_GROW
        LEMMA(handled[AT(d,m)] == announced[AT(d,m)] && marks[AT(d,m)] == EPOCHS * (D - 1) && dones[AT(d,m)] == 0)
#else
        LEMMA(handled[AT(d,m)] == 0 && announced[AT(d,m)] == 0 && marks[AT(d,m)] == 0 && dones[AT(d,m)] == 0)   /* L4 */
#endif
      }
      for (m : 0 .. ROUNDS - 1) { LEMMA(token[d * ROUNDS + m] == 0) }
    }
    assert(live[0] == 0 && live[1] == 0)
  }
#endif
}

#ifdef LIVE
ltl live { <> over }
#endif
