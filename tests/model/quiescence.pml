/* Termination of a mailbox whose handlers send on, as far as they like: the four-counter method.
 *
 *   worker:  active --its programs done, its inbox empty--> contributes (sent, handled) to the open wave
 *          waits for the wave's sums; handles what arrives meanwhile
 *   wave k:  S(k), H(k) = sums of what every worker had counted when it contributed
 *   verdict: S(k) == H(k) == S(k-1) == H(k-1)  -->  finish() returns everywhere;  else the next wave
 *
 * Rules (the protocol)
 *   Q1  A good counts as sent when it is put on a lane, and as handled after its handler has returned.
 *   Q2  A worker contributes when all its programs have said done and its inbox is empty, both counters at one moment.
 *       (TWO_MOMENTS: sent first, handled later, also passes.)
 *   Q3  A worker contributes to wave k+1 after it knows the sums of wave k, which need all contributions to k.
 *   Q4  Counters are never reset: a new epoch goes on counting, and its first wave is compared with the last wave of
 *       the epoch before.
 *
 * Properties
 *   P1  When finish() returns anywhere, every program has said done, and no good of the epoch is under way, waits on an
 *       open train or is put later.
 *   P2  A good is put, and handled, in no epoch that is over.
 *   P3  With LIVE: every finish() returns under weak fairness. Waves repeat without end while goods are under way, so
 *       this is a formula here and not a matter of end states. Without LIVE: the only end is all workers finished, all
 *       goods handled.
 *
 * In an epoch at most GOODS goods are put, by programs and handlers together, anywhere; that handlers go on only a
 * finite time is the user's part of P3. Steps are atomic: a worker is one thread. A wave is one register here, filled
 * by contributions and read by each worker when it likes; any all-reduce that adds each contribution once does that.
 */
#ifndef D
#define D 2                /* workers */
#endif
#ifndef GOODS
#define GOODS 3            /* that may be put in the first epoch */
#endif
#ifndef GOODS_AGAIN
#define GOODS_AGAIN 1
#endif
#define EPOCHS 2

#define LANE(s,t,e)  (((s) * D + (t)) * EPOCHS + (e))
#define AT(t,e)      ((t) * EPOCHS + (e))

byte loaded[D * D * EPOCHS];     /* goods in open trains, by lane and epoch; workers do not know the epoch */
byte away[D * EPOCHS];           /* goods under way to a worker */
byte arrived[D * EPOCHS];        /* goods in its inbox */

byte sent[D], handled[D];
bit done[D];                     /* all programs of the worker are in finish() */
byte epoch[D];                   /* finishes returned */

mtype = { none, contributed, known };
mtype wave[D] = none;            /* a worker's part in the open wave */
byte wave_s, wave_h, parts;      /* the open wave */
byte last_s, last_h;             /* sums of the last complete wave */
bit last_equal;
bit over;                        /* the verdict of the last complete wave: the same on all workers */

byte spare[EPOCHS];              /* goods that may still be put */
byte live[EPOCHS];               /* goods put and not handled */
byte returned[EPOCHS];

inline put(s, t, e) {
  assert(returned[e] == 0);                        /* P2 */
  spare[e]--;
  live[e]++;
#ifndef M_COUNT_AT_DEPARTURE
  sent[s]++;                                       /* Q1 */
#endif
  loaded[LANE(s,t,e)]++
}

proctype Program(byte d) {
  byte t;
end:
  do
  :: atomic { epoch[d] < EPOCHS && !done[d] && spare[epoch[d]] > 0 ->
       select (t : 0 .. D - 1);
       put(d, t, epoch[d]);
       t = 0 }
  :: d_step { epoch[d] < EPOCHS && !done[d] -> done[d] = 1 }
  od
}

proctype Lane(byte s, t, e) {                      /* the open train of a lane departs */
end:
  do
  :: d_step { loaded[LANE(s,t,e)] > 0 ->
#ifdef M_COUNT_AT_DEPARTURE
       sent[s] = sent[s] + loaded[LANE(s,t,e)];
#endif
       away[AT(t,e)] = away[AT(t,e)] + loaded[LANE(s,t,e)];
       loaded[LANE(s,t,e)] = 0 }
  od
}

proctype Network(byte t, e) {
end:
  do
  :: d_step { away[AT(t,e)] > 0 -> away[AT(t,e)]--; arrived[AT(t,e)]++ }
  od
}

proctype Handler(byte d, e) {
  byte t;
end:
  do
  :: atomic { arrived[AT(d,e)] > 0 ->
       assert(returned[e] == 0);                   /* P2 */
#ifdef SEE_NEXT_EPOCH_EARLY
       assert(epoch[d] == e);                   /* a good of the next epoch before finish() returned here: must occur */
#endif
#ifdef SEE_GOOD_AFTER_PART
       assert(wave[d] == none);                    /* a good between contribution and sums: must occur */
#endif
       arrived[AT(d,e)]--;
       do                                          /* puts none, one, several */
       :: spare[e] > 0 -> select (t : 0 .. D - 1); put(d, t, e)
       :: true -> break
       od;
       handled[d]++;                               /* Q1 */
       live[e]--;
       t = 0 }
  od
}

#ifdef M_ONE_WAVE
#define VERDICT (wave_s == wave_h)
#else
#ifdef M_EQUAL_TWICE                               /* each of two waves is balanced, but at other values */
#define VERDICT (wave_s == wave_h && last_equal)
#else
#ifdef M_STEADY                                    /* the same sums twice, not balanced */
#define VERDICT (wave_s == last_s && wave_h == last_h)
#else
#define VERDICT (wave_s == wave_h && wave_s == last_s && wave_h == last_h)
#endif
#endif
#endif

inline complete(d) {                               /* the last contribution is in */
  i = 0;
  if
  :: parts == D ->
     over = VERDICT;
     last_s = wave_s; last_h = wave_h; last_equal = (wave_s == wave_h);
     wave_s = 0; wave_h = 0; parts = 0;
     do
     :: i < D -> wave[i] = known; i++
     :: else -> break
     od
  :: else
  fi;
  i = 0
}

#ifdef M_NOT_DONE
#define IDLE(d) (epoch[d] < EPOCHS && arrived[AT(d,0)] + arrived[AT(d,1)] == 0)
#else
#define IDLE(d) (epoch[d] < EPOCHS && done[d] && arrived[AT(d,0)] + arrived[AT(d,1)] == 0)
#endif

proctype Waves(byte d) {
  byte i;
#ifdef TWO_MOMENTS
  bit half;
#endif
end:
  do
#ifdef TWO_MOMENTS                               /* gives its sent now, its handled later */
  :: d_step { wave[d] == none && !half && IDLE(d) -> wave_s = wave_s + sent[d]; half = 1 }
  :: d_step { wave[d] == none && half && IDLE(d) ->
       wave_h = wave_h + handled[d]; half = 0; parts++; wave[d] = contributed; complete(d) }
#else
  :: d_step { wave[d] == none && IDLE(d) ->        /* Q2 */
       wave_s = wave_s + sent[d]; wave_h = wave_h + handled[d]; parts++; wave[d] = contributed; complete(d) }
#endif
  :: d_step { wave[d] == known ->
       wave[d] = none;                             /* Q3 */
       if
       :: over ->                                  /* finish() returns: P1 */
          assert(live[epoch[d]] == 0);
          do
          :: i < D -> assert(epoch[i] > epoch[d] || (epoch[i] == epoch[d] && done[i])); i++
          :: else -> break
          od;
          i = 0;
          returned[epoch[d]]++;
#ifdef M_RESET                                  /* starts each epoch from zero, while others may still be in the last */
          sent[d] = 0; handled[d] = 0;
#endif
          done[d] = 0;
          epoch[d]++
       :: else
       fi }
  od
}

bit all_over;

init {
  byte d, t, e;
  atomic {
    spare[0] = GOODS; spare[1] = GOODS_AGAIN;
    for (d : 0 .. D - 1) {
      run Program(d);
      run Waves(d);
      for (e : 0 .. EPOCHS - 1) {
        run Network(d, e);
        run Handler(d, e);
        for (t : 0 .. D - 1) { run Lane(d, t, e) }
      }
    }
    d = 0; t = 0; e = 0
  }
#ifdef LIVE
  (returned[EPOCHS - 1] == D);
  all_over = 1
#else
  timeout ->                                       /* P3: nothing can move any more */
  assert(returned[0] == D && returned[1] == D && live[0] == 0 && live[1] == 0)
#endif
}

#ifdef LIVE
ltl live { <> all_over }
#endif
