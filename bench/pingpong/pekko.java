// Question: what does a message cost between Pekko's typed actors, with its answer? The game of game.hpp.
import java.util.concurrent.CountDownLatch;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.javadsl.Behaviors;

class PingPong {
  record Ball(long number) {}

  static final class Player extends Actor<Ball> {
    final boolean serves;
    final long until;
    final CountDownLatch over;
    ActorRef<Ball> other;
    long left;
    long got = 0;

    Player(boolean serves, long balls, long window, CountDownLatch over) {
      this.serves = serves;
      this.until = balls;
      this.left = balls - window;
      this.over = over;
    }

    @Override Behavior<Ball> handle(Ball ball) {
      ++got;
      if (!serves) {
        other.tell(ball);
      } else if (left > 0) {
        --left;
        other.tell(new Ball(ball.number() + 1));
      }
      if (got < until) return Behaviors.same();
      over.countDown();
      return Behaviors.stopped();
    }
  }

  public static void main(String[] arguments) throws Exception {
    final var program = new Program("pingpong_pekko", arguments);
    final String form = program.word("--what");
    if (!form.equals("article") && !form.equals("strict")) program.badOption("--what", form);
    program.measure(warmup -> {
      final long balls = warmup ? Program.WARMUP_MESSAGES : program.number("--rounds");
      final long window = Math.min(form.equals("strict") ? 1 : 512, balls);
      final var over = new CountDownLatch(2);
      final var ping = new Player(true, balls, window, over);
      final var pong = new Player(false, balls, window, over);
      ping.other = program.spawn(pong);
      pong.other = program.spawn(ping);
      final long start = System.nanoTime();
      for (long i = 0; i < window; ++i) ping.other.tell(new Ball(i));
      over.await();
      final double seconds = 1e-9 * (System.nanoTime() - start);
      if (ping.got != balls) program.wrong("answers", ping.got, balls);
      if (pong.got != balls) program.wrong("balls", pong.got, balls);
      return seconds;
    });
  }
}
