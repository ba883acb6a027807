// The JVM's rivals of the table railway: a program each, and what they share.
//
// Producer p of P loads p, p + P, ... below the number of goods; every consumer adds up all that it gets. In a circle
// the consumer writes the number after it over each, and the producer adds these up. One sample is timed in a process
// that has moved tenths of it for up to 3 s before, so that what is measured is compiled code.
import com.lmax.disruptor.BusySpinWaitStrategy;
import com.lmax.disruptor.EventHandler;
import com.lmax.disruptor.RingBuffer;
import com.lmax.disruptor.YieldingWaitStrategy;
import com.lmax.disruptor.dsl.Disruptor;
import com.lmax.disruptor.dsl.ProducerType;
import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicLong;
import org.jctools.queues.MessagePassingQueue;
import org.jctools.queues.MpscArrayQueue;
import org.jctools.queues.SpscArrayQueue;

/** What is moved. */
record Shape(int producers, int consumers, int capacity, int trains, long goods, boolean circle) {
  long sum() { return goods % 2 == 0 ? goods / 2 * (goods - 1) : (goods - 1) / 2 * goods; }
  long trainsOf() { return goods / producers / capacity; }  // of each producer
  boolean crowded() { return producers + consumers > Runtime.getRuntime().availableProcessors(); }
}

/** A way to move it. */
interface Mover {
  /** Returns each consumer's sum. */
  long[] move(Shape s) throws Exception;

  static void measure(String name, String[] arguments, Mover mover) throws Exception {
    final Map<String, Long> o = new HashMap<>(Map.of("--producers", 1L, "--consumers", 1L, "--capacity", 256L,
        "--trains", 16L, "--updates", 10_000_000L, "--samples", 5L, "--warmup", 1L));
    for (int i = 0; i < arguments.length; i += 2) {
      try {
        if (o.containsKey(arguments[i])) o.put(arguments[i], Long.parseUnsignedLong(arguments[i + 1]));
      } catch (RuntimeException problem) {
        System.err.printf("railway_%s: bad option or value: %s%n", name, arguments[i]);
        System.exit(2);
      }
    }
    final boolean circle = List.of(arguments).contains("circle");
    final long before = o.get("--warmup");
    final var small = shape(o, (o.get("--updates") + 9) / 10, circle);
    final long began = System.nanoTime();
    for (long part = 0; part < 20 * before && System.nanoTime() - began < MOST_WARM_UP; ++part) {
      check(name, small, mover.move(small));
    }
    final var s = shape(o, o.get("--updates"), circle);
    final var system = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
    for (long sample = 0; sample < o.get("--samples"); ++sample) {
      final long processor = system.getProcessCpuTime();
      final long start = System.nanoTime();
      final long[] sums = mover.move(s);
      final double seconds = 1e-9 * (System.nanoTime() - start);
      final double busy = 1e-9 * (system.getProcessCpuTime() - processor);
      check(name, s, sums);
      System.out.printf("{\"seconds\": %.9f, \"checked\": true, \"goods\": %d, \"processors\": %.3f}%n", seconds,
          s.goods(), busy / seconds);
    }
    System.exit(0);
  }

  long MOST_WARM_UP = 3_000_000_000L;  // ns

  /** So many goods, but whole trains of every producer. */
  static Shape shape(Map<String, Long> o, long goods, boolean circle) {
    final long whole = o.get("--producers") * o.get("--capacity");
    return new Shape(o.get("--producers").intValue(), o.get("--consumers").intValue(), o.get("--capacity").intValue(),
        o.get("--trains").intValue(), (goods + whole - 1) / whole * whole, circle);
  }

  /** In a circle the last sum is that of the results. */
  static void check(String name, Shape s, long[] sums) {
    for (int i = 0; i < sums.length; ++i) {
      final long wanted = s.sum() + (i == s.consumers() ? s.goods() : 0);
      if (sums[i] == wanted) continue;
      System.err.printf("railway_%s: wrong answer: sum %d is %d, expected %d%n", name, i, sums[i], wanted);
      System.exit(1);
    }
    if (s.circle() && sums.length == s.consumers()) {
      System.err.printf("railway_%s: absent: has no circle%n", name);
      System.exit(3);
    }
  }

  static void together(List<Thread> threads) throws InterruptedException {
    for (final Thread t : threads) t.start();
    for (final Thread t : threads) t.join();
  }
}

/** Disruptor: one event a number, claimed and published a train's worth at a time. */
class DisruptorLine {
  static final class Number { long value; }

  static long[] move(Shape s) throws Exception {
    final int size = Integer.highestOneBit(Math.max(2, s.capacity() * s.trains()) * 2 - 1);
    final var disruptor = new Disruptor<>(Number::new, size, (Runnable r) -> new Thread(r),
        s.producers() == 1 ? ProducerType.SINGLE : ProducerType.MULTI,
        s.crowded() ? new YieldingWaitStrategy() : new BusySpinWaitStrategy());
    final long[] sums = new long[s.consumers()];
    final var all = new CountDownLatch(s.consumers());
    final List<EventHandler<Number>> handlers = new ArrayList<>();
    for (int c = 0; c < s.consumers(); ++c) {
      final int me = c;
      handlers.add(new EventHandler<>() {
        long sum = 0;
        @Override public void onEvent(Number event, long sequence, boolean last) {
          sum += event.value;
          if (sequence == s.goods() - 1) {
            sums[me] = sum;
            all.countDown();
          }
        }
      });
    }
    @SuppressWarnings("unchecked") final EventHandler<Number>[] array = handlers.toArray(new EventHandler[0]);
    disruptor.handleEventsWith(array);
    final RingBuffer<Number> ring = disruptor.start();
    final List<Thread> producers = new ArrayList<>();
    for (int p = 0; p < s.producers(); ++p) {
      final int me = p;
      producers.add(new Thread(() -> {
        long next = me;
        for (long t = 0; t < s.trainsOf(); ++t) {
          final long high = ring.next(s.capacity());
          final long low = high - s.capacity() + 1;
          for (long at = low; at <= high; ++at, next += s.producers()) ring.get(at).value = next;
          ring.publish(low, high);
        }
      }));
    }
    Mover.together(producers);
    all.await();
    disruptor.shutdown();
    return sums;
  }

  public static void main(String[] arguments) throws Exception {
    Mover.measure("disruptor", arguments, DisruptorLine::move);
  }
}

/**
 * The article's design: trains that stop at one station after the other, a position that every station polls and the
 * one whose turn it is moves on. A producer is a station, so several share the rounds. Consumers that see all are
 * stations behind.
 */
class ArticleLine {
  static final class Train {
    final AtomicLong stop = new AtomicLong();  // counts on; % stations is where it stands
    final long[] goods;
    int count = 0;
    Train(int capacity) { goods = new long[capacity]; }

    long sum() {
      long sum = 0;
      for (int i = 0; i < count; ++i) sum += goods[i];
      return sum;
    }
    /** Writes a result over each number. Returns the numbers' sum. */
    long answer() {
      long sum = 0;
      for (int i = 0; i < count; ++i) sum += goods[i]++;
      return sum;
    }
  }

  static void await(Train train, long stop, boolean crowded) {
    while (train.stop.get() != stop) {
      if (crowded) {
        Thread.yield();
      } else {
        Thread.onSpinWait();
      }
    }
  }

  static long[] move(Shape s) throws Exception {
    final int stations = s.producers() + s.consumers();
    final int share = Math.max(1, s.capacity() / s.producers());
    final Train[] trains = new Train[s.trains()];
    for (int t = 0; t < trains.length; ++t) trains[t] = new Train(share * s.producers());
    final long each = s.goods() / s.producers();
    final long rounds = (each + share - 1) / share;
    final boolean crowded = s.crowded();
    final boolean circle = s.circle();
    final long[] sums = new long[s.consumers() + (circle ? 1 : 0)];
    final List<Thread> threads = new ArrayList<>();
    for (int station = 0; station < stations; ++station) {
      final int me = station;
      threads.add(new Thread(() -> {
        long next = me;
        long left = each;
        long sum = 0;
        int at = 0;
        long stop = me;
        for (long round = 0; round < rounds; ++round) {
          final Train train = trains[at];
          await(train, stop, crowded);
          if (me < s.producers()) {
            if (circle && round >= trains.length) sum += train.sum();
            final int n = (int) Math.min(left, share);
            int count = me == 0 ? 0 : train.count;
            for (int i = 0; i < n; ++i, next += s.producers()) train.goods[count++] = next;
            train.count = count;
            left -= n;
          } else {
            sum += circle ? train.answer() : train.sum();
          }
          train.stop.lazySet(stop + 1);
          if (++at == trains.length) {
            at = 0;
            stop += stations;
          }
        }
        if (me >= s.producers()) sums[me - s.producers()] = sum;
        if (circle && me == 0) sums[1] = sum + unloadTheLast(trains, rounds, at, stop, crowded);
      }));
    }
    Mover.together(threads);
    return sums;
  }

  /** Adds up the results that nothing more is loaded over: of the trains that the producer would load next. */
  static long unloadTheLast(Train[] trains, long rounds, int at, long stop, boolean crowded) {
    long sum = 0;
    if (rounds < trains.length) {  // the others have not been out
      at = 0;
      stop = 2;
    }
    for (long left = Math.min(rounds, trains.length); left > 0; --left) {
      await(trains[at], stop, crowded);
      sum += trains[at].sum();
      if (++at == trains.length) {
        at = 0;
        stop += 2;
      }
    }
    return sum;
  }

  public static void main(String[] arguments) throws Exception {
    Mover.measure("article", arguments, ArticleLine::move);
  }
}

/** The JDK's queue, one number at a time; a queue a consumer. */
class QueueLine {
  static long[] move(Shape s) throws Exception {
    final List<LinkedBlockingQueue<Long>> queues = new ArrayList<>();
    for (int c = 0; c < s.consumers(); ++c)
      queues.add(new LinkedBlockingQueue<>(Math.max(2, s.capacity() * s.trains())));
    final long[] sums = new long[s.consumers()];
    final List<Thread> threads = new ArrayList<>();
    for (int p = 0; p < s.producers(); ++p) {
      final int me = p;
      threads.add(new Thread(() -> {
        try {
          for (long v = me; v < s.goods(); v += s.producers()) {
            for (final var queue : queues) queue.put(v);
          }
        } catch (InterruptedException never) {
          throw new IllegalStateException(never);
        }
      }));
    }
    for (int c = 0; c < s.consumers(); ++c) {
      final int me = c;
      threads.add(new Thread(() -> {
        try {
          long sum = 0;
          for (long i = 0; i < s.goods(); ++i) sum += queues.get(me).take();
          sums[me] = sum;
        } catch (InterruptedException never) {
          throw new IllegalStateException(never);
        }
      }));
    }
    Mover.together(threads);
    return sums;
  }

  public static void main(String[] arguments) throws Exception { Mover.measure("queue", arguments, QueueLine::move); }
}

/** JCTools: a queue a consumer, filled and drained a train's worth at a time. */
class JctoolsLine {
  static long[] move(Shape s) throws Exception {
    final int places = Math.max(4, s.capacity() * s.trains());
    final List<MessagePassingQueue<Long>> queues = new ArrayList<>();
    for (int c = 0; c < s.consumers(); ++c) {
      queues.add(s.producers() == 1 ? new SpscArrayQueue<>(places) : new MpscArrayQueue<>(places));
    }
    final boolean crowded = s.crowded();
    final long[] sums = new long[s.consumers()];
    final List<Thread> threads = new ArrayList<>();
    for (int p = 0; p < s.producers(); ++p) {
      final int me = p;
      threads.add(new Thread(() -> {
        final long[] next = new long[queues.size()];  // for each queue
        java.util.Arrays.fill(next, me);
        for (boolean all = false; !all;) {
          all = true;
          int put = 0;
          for (int q = 0; q < next.length; ++q) {
            final int at = q;
            final long left = (s.goods() - next[at] + s.producers() - 1) / s.producers();
            if (left <= 0) continue;
            all = false;
            put += queues.get(at).fill(() -> {
              final long value = next[at];
              next[at] += s.producers();
              return value;
            }, (int) Math.min(left, s.capacity()));
          }
          if (put == 0) pause(crowded);
        }
      }));
    }
    for (int c = 0; c < s.consumers(); ++c) {
      final int me = c;
      threads.add(new Thread(() -> {
        final long[] sum = new long[1];
        for (long left = s.goods(); left > 0;) {
          final int got = queues.get(me).drain(v -> sum[0] += v, s.capacity());
          left -= got;
          if (got == 0) pause(crowded);
        }
        sums[me] = sum[0];
      }));
    }
    Mover.together(threads);
    return sums;
  }

  static void pause(boolean crowded) {
    if (crowded) {
      Thread.yield();
    } else {
      Thread.onSpinWait();
    }
  }

  public static void main(String[] arguments) throws Exception {
    Mover.measure("jctools", arguments, JctoolsLine::move);
  }
}
