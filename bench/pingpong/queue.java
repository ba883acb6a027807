// Question: what does a ball there and back cost between two threads, over two queues of the JDK? The game of game.hpp,
// as the article about railways plays it.
//
// Two threads are two workers, so it has no row with one.
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;

class QueueGame {
  static final int WARMUP_ROUNDS = 2;  // besides those asked for: what is measured is compiled code
  static final long WARMUP_BALLS = 200_000;
  static final String NAME = "pingpong_queue";

  final LinkedBlockingQueue<Long> there = new LinkedBlockingQueue<>();
  final LinkedBlockingQueue<Long> back = new LinkedBlockingQueue<>();
  final long balls;
  final long window;  // balls under way
  long received = 0;  // by the other thread
  long sum = 0;       // of what came back

  QueueGame(long balls, long window) {
    this.balls = balls;
    this.window = Math.min(window, balls);
  }

  void answer() {
    try {
      for (; received < balls; ++received) back.put(there.take());
    } catch (InterruptedException never) {
      throw new IllegalStateException(never);
    }
  }

  /** Returns seconds. */
  double play() throws InterruptedException {
    final var other = new Thread(this::answer);
    final long start = System.nanoTime();
    other.start();
    for (long i = 0; i < window; ++i) there.put(i);
    for (long got = 0; got < balls; ++got) {
      sum += back.take();
      if (window + got < balls) there.put(window + got);
    }
    final double seconds = 1e-9 * (System.nanoTime() - start);
    other.join();
    if (received != balls) wrong("balls", received, balls);
    final long expected = balls % 2 == 0 ? balls / 2 * (balls - 1) : (balls - 1) / 2 * balls;
    if (sum != expected) wrong("the answers' sum", sum, expected);
    return seconds;
  }

  static void wrong(String what, long got, long expected) {
    System.err.printf("%s: wrong answer: %s is %d, expected %d%n", NAME, what, got, expected);
    System.exit(1);
  }

  static void badOption(String name, String value) {
    System.err.printf("%s: bad option or value: %s %s%n", NAME, name, value);
    System.exit(2);
  }

  public static void main(String[] arguments) throws InterruptedException {
    final Map<String, String> o = new HashMap<>(
        Map.of("--pes", "2", "--what", "strict", "--rounds", "100000", "--samples", "5", "--warmup", "1"));
    for (int i = 0; i < arguments.length; i += 2) {
      final String value = i + 1 < arguments.length ? arguments[i + 1] : "";
      final boolean word = arguments[i].equals("--what");
      if (!o.containsKey(arguments[i]) || !value.matches(word ? "article|strict" : "[0-9]{1,12}"))
        badOption(arguments[i], value);
      o.put(arguments[i], value);
    }
    if (!o.get("--pes").equals("2")) badOption("--pes", o.get("--pes"));
    final long window = o.get("--what").equals("strict") ? 1 : 512;
    final long balls = Long.parseLong(o.get("--rounds"));
    for (long i = Long.parseLong(o.get("--warmup")) + WARMUP_ROUNDS; i > 0; --i)
      new QueueGame(Math.min(balls, WARMUP_BALLS), window).play();
    for (long i = Long.parseLong(o.get("--samples")); i > 0; --i)
      System.out.printf("{\"seconds\": %.9f, \"checked\": true}%n", new QueueGame(balls, window).play());
  }
}
