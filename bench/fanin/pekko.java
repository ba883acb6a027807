// Question: how much do 8 of Pekko's typed actors get into the mailbox of one?
//
// Mailboxes have no bound: a sender that has sent a portion asks the receiver for leave to send the next.
// `--what thread`: the sender is the program's own thread, which sends all without leave.
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.javadsl.Behaviors;

class FanIn {
  enum Leave { TO_SEND }
  sealed interface Letter permits Value, Request {}
  record Value(long value) implements Letter {}
  record Request(ActorRef<Leave> from) implements Letter {}

  static final int PORTION = 512;

  static final class Receiver extends Actor<Letter> {
    final long until;
    final CountDownLatch over = new CountDownLatch(1);
    long sum = 0;
    long got = 0;

    Receiver(long until) { this.until = until; }

    @Override Behavior<Letter> handle(Letter letter) {
      if (letter instanceof Value v) {
        sum += v.value();
        if (++got < until) return Behaviors.same();
        over.countDown();
        return Behaviors.stopped();
      }
      ((Request) letter).from().tell(Leave.TO_SEND);
      return Behaviors.same();
    }
  }

  static final class Sender extends Actor<Leave> {
    final ActorRef<Letter> to;
    final long each;
    Request more;
    long next = 0;

    Sender(ActorRef<Letter> to, long each) {
      this.to = to;
      this.each = each;
    }

    @Override Behavior<Leave> handle(Leave leave) {
      for (final long end = Math.min(each, next + PORTION); next < end; ++next) to.tell(new Value(next));
      if (next == each) return Behaviors.stopped();
      to.tell(more);
      return Behaviors.same();
    }
  }

  public static void main(String[] arguments) throws Exception {
    final var program = new Program("fanin_pekko", arguments);
    final int senders = program.number("--table");
    final boolean thread = program.word("--what").equals("thread");
    program.measure(warmup -> {
      final long each = (warmup ? Program.WARMUP_MESSAGES : program.number("--rounds")) / senders;
      final var receiver = new Receiver(senders * each);
      final var into = program.spawn(receiver);
      final List<ActorRef<Leave>> from = new ArrayList<>();
      for (int s = 0; s < senders && !thread; ++s) {
        final var sender = new Sender(into, each);
        from.add(program.spawn(sender));
        sender.more = new Request(from.get(s));
      }
      final long start = System.nanoTime();
      for (final var sender : from) sender.tell(Leave.TO_SEND);
      for (long k = 0; k < senders * each && thread; ++k) into.tell(new Value(k));
      receiver.over.await();
      final double seconds = 1e-9 * (System.nanoTime() - start);
      final long want = senders * (each * (each - 1) / 2);
      if (receiver.sum != want) program.wrong("the sum", receiver.sum, want);
      return seconds;
    });
  }
}
