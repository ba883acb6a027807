// Question: what does it cost to go from one virtual thread of the JDK to the next?
//
// The round robin of ring.hpp: --order fifo and random by Thread.yield, all unparked once in that
// order; --order chain by LockSupport: each unparks its successor in a random permutation, and
// parks. One carrier thread, by the driver's options.
//
// Invariants
//   L1  In a chain a thread finds its own turn, or the answer is wrong.
//   L2  Thread.yield promises no order, so in the other orders shares are checked: when the end is
//       announced none is ahead by more than two laps and an eighth, and all leave after as many.
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

class Loom {
  static final double LONG_ENOUGH_TO_TIME = 0.1;  // seconds: the JDK's clock ticks by 10 ms

  enum Stage { STARTING, SIZING, MEASURING }

  static final Map<String, String> options = new HashMap<>(Map.of("--fibers", "1000", "--order",
      "fifo", "--milliseconds", "300", "--samples", "5", "--warmup", "1"));
  static final AtomicLong turn = new AtomicLong();  // one carrier: plain, but not out of loops
  static long n, end, laps = 1, lapsEach = 0;
  static volatile long begun;
  static long phasesLeft, samples;
  static double seconds, start;
  static boolean ordered;
  static Stage stage = Stage.STARTING;

  static final com.sun.management.OperatingSystemMXBean system =
      (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

  static double processorNow() { return 1e-9 * system.getProcessCpuTime(); }

  static void wrong(String what, long got, long expected) {
    System.err.printf("switch_loom: wrong answer: %s is %d, expected %d%n", what, got, expected);
    System.exit(1);
  }

  static long number(String name) {
    try {
      return Long.parseUnsignedLong(options.get(name));
    } catch (NumberFormatException problem) {
      throw badOption(name, options.get(name));
    }
  }

  static RuntimeException badOption(String name, String value) {
    System.err.printf("switch_loom: bad option or value: %s %s%n", name, value);
    System.exit(2);
    return null;
  }

  /** Takes a turn of the thread at this position, which has taken {@code mine} before. */
  static boolean take(long position, long mine) {
    final long now = turn.getPlain();
    if (ordered && now != position + mine * n) wrong("a turn", now, position + mine * n);
    if (now >= end) {
      if (lapsEach == 0) afterPhase(now);
      if (lapsEach != 0 && mine >= lapsEach) {
        if (mine > lapsEach) wrong("laps ahead of all", mine, lapsEach);
        turn.setOpaque(now + 1);  // leaving is one too
        return false;
      }
    }
    turn.setOpaque(now + 1);
    return true;
  }

  static void afterPhase(long now) {
    final double took = processorNow() - start;
    switch (stage) {
      case STARTING -> stage = Stage.SIZING;
      case SIZING -> {
        if (took < LONG_ENOUGH_TO_TIME) {
          laps *= 2;
        } else {
          laps = Math.max(1, (long) (laps * seconds / took));
          stage = Stage.MEASURING;
        }
      }
      case MEASURING -> {
        if (phasesLeft <= samples) {
          System.out.printf("{\"seconds\": %.9f, \"checked\": true, \"switches\": %d}%n", took,
              laps * n);
        }
        if (--phasesLeft == 0) {
          lapsEach = now / n;
          if (!ordered) lapsEach += 2 + lapsEach / 8;
          return;
        }
      }
    }
    end = now + laps * n;
    start = processorNow();
  }

  public static void main(String[] arguments) throws InterruptedException {
    for (int a = 0; a < arguments.length; a += 2) {
      final String value = a + 1 < arguments.length ? arguments[a + 1] : "";
      if (options.replace(arguments[a], value) == null) throw badOption(arguments[a], value);
    }
    n = number("--fibers");
    end = n;
    samples = number("--samples");
    phasesLeft = number("--warmup") + samples;
    seconds = 1e-3 * number("--milliseconds");
    final String how = options.get("--order");
    if (!List.of("fifo", "random", "chain").contains(how)) throw badOption("--order", how);
    ordered = how.equals("chain");

    final List<Integer> order = new ArrayList<>();  // position -> thread
    final SplittableRandom random = new SplittableRandom(20240229);
    for (int i = 0; i < n; ++i) {
      final int j = how.equals("fifo") ? i : random.nextInt(i + 1);
      order.add(i);
      order.set(i, order.get(j));
      order.set(j, i);
    }
    final Thread[] all = new Thread[(int) n];
    for (int p = 0; p < n; ++p) {
      final long position = p;
      final int next = order.get((p + 1) % (int) n);
      all[order.get(p)] = Thread.ofVirtual().unstarted(
          () -> { if (ordered) byWaking(all, next, position); else byYielding(all, order); });
    }
    for (Thread one : all) one.start();
    for (Thread one : all) one.join();
    if (turn.get() != (lapsEach + 1) * n) wrong("the sum of turns", turn.get(), (lapsEach + 1) * n);
  }

  /** The last to begin wakes all: its queue is the carrier's own, and starts from outside would
      starve behind those that yield. */
  static void byYielding(Thread[] all, List<Integer> order) {
    if (++begun == n) {
      for (int next : order) LockSupport.unpark(all[next]);
    }
    while (begun < n) LockSupport.park();
    for (long mine = 0; take(0, mine); ++mine) Thread.yield();
  }

  static void byWaking(Thread[] all, int next, long position) {
    for (long mine = 0;; ++mine) {
      while (turn.getOpaque() != position + mine * n) LockSupport.park();
      final boolean goOn = take(position, mine);
      LockSupport.unpark(all[next]);
      if (!goOn) return;
    }
  }
}
