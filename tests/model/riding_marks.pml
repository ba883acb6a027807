/* End marks that ride: over a network a mark travels with messages of its own selector, and with nothing else.
 *
 *   S --channel 0: messages of selectors A and B, and marks--> PLACES receives posted --> R
 *   S, T --channel 2: marks, tokens of the barrier--> R
 *
 * A train of channel 0 that R may not unload whole yet keeps the place where another could arrive: messages of B until
 * R's program has constructed B, which it does after finish() of A; messages of A's second epoch until R has left the
 * first one. What ends this waiting must not stand behind it.
 *
 * Rules (the protocol; outbound::send_control)
 *   R1  The mark of a selector's epoch rides in the open train if that carries messages of this selector: they are of
 *       this epoch, which does not end before that train has arrived, wherever the mark is. Else it goes on channel 2.
 *   R2  Tokens go on channel 2, which is always unloaded.
 *   R3  What a train carries is unloaded by itself: a mark does not wait for messages beside it.
 *
 * Property
 *   P1  The only end is all epochs ended at R, and no message, mark or token under way. No step can be undone, so
 *       every run comes to its end.
 *
 * S loads messages of A first: behind more trains of B than R has places for they could not arrive, with or without
 * marks. Else it may load and send off in any order. Its trains arrive in order, as MPI's messages of a channel do. S
 * leaves the first epoch of A once R has ended it; R needs the tokens of S and of T for that; T's comes at any time.
 */
#ifndef PLACES
#define PLACES 1
#endif
#ifndef A1
#define A1 1                 /* messages of A in its first epoch; in the second; of B */
#endif
#ifndef A2
#define A2 2
#endif
#ifndef B
#define B 2
#endif

#define HAS_A1   1
#define HAS_A2   2
#define HAS_B    4
#define MARK_A1  8
#define MARK_A2  16
#define MARK_B   32
#define TOKEN_S  64
#define TOKEN_T  128

chan ring = [A1 + A2 + B + 5] of { byte };   /* channel 0, in order */
byte control;                                /* channel 2, under way: marks and tokens, in any order */
byte came;                                   /* marks and tokens that R has */
byte open;                                   /* the open train of S */
byte held[PLACES];                           /* what R may not unload yet */
byte left_a1 = A1, left_a2 = A2, left_b = B; /* that S has not loaded yet */
byte seen_a1, seen_a2, seen_b;               /* that R has handled */
bit ended_a1, between, constructed;

/* R1: `with` are the messages of the mark's selector and epoch. */
#ifdef M_RIDES_WITH_ANY
#define SAY(mark, with) if :: open != 0 -> open = open | (mark) :: else -> control = control | (mark) fi
#endif
#ifdef M_ALWAYS_RIDES
#define SAY(mark, with) open = open | (mark)
#endif
#ifndef SAY
#define SAY(mark, with) if :: open & (with) -> open = open | (mark) :: else -> control = control | (mark) fi
#endif

proctype sender() {
  byte said;
  bit token;
end:
  do
  :: atomic { left_a1 > 0 && !(open & HAS_A1) -> open = open | HAS_A1; left_a1-- }
  :: atomic { left_b > 0 && left_a1 == 0 && !(open & HAS_B) -> open = open | HAS_B; left_b-- }
  :: atomic { left_a2 > 0 && token && ended_a1 && !(open & HAS_A2) -> open = open | HAS_A2; left_a2-- }
  :: atomic { open != 0 -> ring ! open; open = 0 }
  :: atomic { left_a1 == 0 && !(said & MARK_A1) -> said = said | MARK_A1; SAY(MARK_A1, HAS_A1) }
  :: atomic { left_b == 0 && !(said & MARK_B) -> said = said | MARK_B; SAY(MARK_B, HAS_B) }
  :: atomic {
       left_a2 == 0 && token && ended_a1 && !(said & MARK_A2) -> said = said | MARK_A2; SAY(MARK_A2, HAS_A2)
     }
  :: atomic { (said & MARK_A1) && !token -> token = 1;
#ifdef M_TOKEN_RIDES
       open = open | TOKEN_S
#else
       control = control | TOKEN_S
#endif
     }
  od
}

proctype third() {
#ifdef M_TOKEN_ON_CHANNEL_0
  ring ! TOKEN_T
#else
  atomic { control = control | TOKEN_T }
#endif
}

/* What of a train may be unloaded now. \return in `rest` what must wait */
inline unload(load) {
  came = came | (load & (MARK_A1 | MARK_A2 | MARK_B | TOKEN_S | TOKEN_T));
  rest = 0;
  if :: load & HAS_A1 -> assert(!ended_a1); seen_a1++ :: else fi;
  if
  :: load & HAS_A2 && between -> rest = rest | HAS_A2
  :: load & HAS_A2 && !between -> seen_a2++
  :: else
  fi;
  if
  :: load & HAS_B && !constructed -> rest = rest | HAS_B
  :: load & HAS_B && constructed -> seen_b++
  :: else
  fi;
#ifdef SEE_RIDES_BESIDE_DEFERRED
  assert(!((load & MARK_A1) && rest));
#endif
#ifdef M_MARK_WAITS
  if :: rest -> came = came & ~(load & (MARK_A1 | MARK_A2 | MARK_B));
                rest = rest | (load & (MARK_A1 | MARK_A2 | MARK_B))
     :: else
  fi
#endif
}

proctype receiver() {
  byte i, load, rest;
end:
  do
  :: atomic {
       i < PLACES && held[i] == 0 && nempty(ring) -> ring ? load; unload(load); held[i] = rest; load = 0; rest = 0
     }
  :: atomic { i < PLACES - 1 && held[i] != 0 -> i++ }              /* the next free place, and back */
  :: atomic { i > 0 && held[i - 1] == 0 -> i-- }
  :: atomic { control != 0 -> came = came | control; control = 0 }
  :: atomic { !ended_a1 && (came & MARK_A1) && seen_a1 == A1 -> ended_a1 = 1; between = 1 }
  :: atomic {                                                       /* leaves finish(), constructs B, looks again */
       between && (came & TOKEN_S) && (came & TOKEN_T) ->
       between = 0; constructed = 1;
       i = 0;
       do
       :: i < PLACES -> load = held[i]; unload(load); held[i] = rest; i++
       :: else -> break
       od;
       i = 0; load = 0; rest = 0
     }
  od
}

init {
  atomic { run sender(); run third(); run receiver() }
  timeout;                       /* nothing can go on */
  assert(constructed && (came & MARK_A2) && seen_a2 == A2 && (came & MARK_B) && seen_b == B);  /* P1 */
  assert(open == 0 && control == 0 && empty(ring));
}
