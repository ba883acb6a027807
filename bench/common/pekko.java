// Pekko, as the tables of actors have it: options, a dispatcher with the table's number of threads, rounds.
import com.typesafe.config.ConfigFactory;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.ExtensibleBehavior;
import org.apache.pekko.actor.typed.Props;
import org.apache.pekko.actor.typed.Signal;
import org.apache.pekko.actor.typed.TypedActorContext;
import org.apache.pekko.actor.typed.javadsl.Behaviors;

/** A call a message, without the matching that Pekko's own builders of behaviours add. */
abstract class Actor<Message> extends ExtensibleBehavior<Message> {
  /** Returns Behaviors.same() or Behaviors.stopped(). */
  abstract Behavior<Message> handle(Message m);
  @Override public Behavior<Message> receive(TypedActorContext<Message> context, Message m) { return handle(m); }
  @Override public Behavior<Message> receiveSignal(TypedActorContext<Message> context, Signal s) {
    return Behaviors.same();
  }
}

/** A program of a table. */
final class Program {
  interface Round {
    /** Returns seconds. A warm-up round may be of another length. */
    double play(boolean warmup) throws Exception;
  }

  static final int WARMUP_MESSAGES = 2_000_000;  // some 0.5 s
  private static final int WARMUP_ROUNDS = 2;  // besides those asked for: what is measured is compiled code
  // Throughput: messages that an actor may handle before the thread goes on to another one; the best of 4 to 8,192 for
  // one thread, and for several.
  private static final String SETTINGS = """
      pekko.log-dead-letters = off
      pekko.actor.default-dispatcher {
        throughput = %2$d
        executor = fork-join-executor
        fork-join-executor { parallelism-min = %1$d, parallelism-factor = 1, parallelism-max = %1$d }
      }
      """;

  private final String name;
  private final Map<String, String> options = new HashMap<>(Map.of("--pes", "2", "--rounds", "100000", "--rows",
      "10000", "--columns", "10000", "--depth", "0", "--table", "1000", "--samples", "5", "--warmup", "1", "--what", "",
      "--oracle", ""));
  private final ActorSystem<Void> system;
  private final AtomicInteger spawned = new AtomicInteger();

  Program(String name, String[] arguments) {
    this.name = name;
    for (int i = 0; i < arguments.length; i += 2) {
      if (!options.containsKey(arguments[i]) || i + 1 == arguments.length) badOption(arguments[i], "");
      options.put(arguments[i], arguments[i + 1]);
    }
    final int threads = number("--pes");
    system = ActorSystem.create(Behaviors.empty(), "bench", ConfigFactory.parseString(
        SETTINGS.formatted(threads, threads == 1 ? 32 : 128)).withFallback(ConfigFactory.load()));
  }

  int number(String option) {
    try {
      return Integer.parseUnsignedInt(options.get(option));
    } catch (NumberFormatException problem) {
      throw badOption(option, options.get(option));
    }
  }

  String word(String option) { return options.get(option); }

  RuntimeException badOption(String option, String value) {
    System.err.printf("%s: bad option or value: %s %s%n", name, option, value);
    System.exit(2);
    return null;
  }

  <Message> ActorRef<Message> spawn(Behavior<Message> behavior) {
    return system.systemActorOf(behavior, "actor" + spawned.getAndIncrement(), Props.empty());
  }

  void wrong(String what, Object got, Object expected) {
    System.err.printf("%s: wrong answer: %s is %s, expected %s%n", name, what, got, expected);
    System.exit(1);
  }

  void measure(Round round) throws Exception {
    for (int i = number("--warmup") + WARMUP_ROUNDS; i > 0; --i) round.play(true);
    for (int i = number("--samples"); i > 0; --i) {
      System.out.printf("{\"seconds\": %.9f, \"checked\": true}%n", round.play(false));
    }
    System.exit(0);
  }
}
