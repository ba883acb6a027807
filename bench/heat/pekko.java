// Question: what do Pekko's typed actors reach, an actor a row, as in the published listing?
//
// A message says that a row may use the one above it, or below it, and that its sender has done with that row for now.
// The kernel is field.hpp's.
import java.util.ArrayList;
import java.util.concurrent.CountDownLatch;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.javadsl.Behaviors;

class Heat {
  enum Arrived { ABOVE, BELOW, OVER }

  static final class Row extends Actor<Arrived> {
    final Field plate;
    final int row;
    final int steps;
    final CountDownLatch over;
    ActorRef<Arrived> above;  // null: the field's rim
    ActorRef<Arrived> below;
    boolean mayAbove;
    boolean mayBelow = true;
    int step = 1;

    Row(Field plate, int row, int steps, CountDownLatch over) {
      this.plate = plate;
      this.row = row;
      this.steps = steps;
      this.over = over;
    }

    @Override Behavior<Arrived> handle(Arrived from) {
      switch (from) {
        case ABOVE -> mayAbove = true;
        case BELOW -> mayBelow = true;
        case OVER -> { return Behaviors.stopped(); }
      }
      if (!mayAbove || !mayBelow || step > steps) return Behaviors.same();
      plate.compute(row);
      mayAbove = above == null;
      mayBelow = below == null;
      if (above != null) above.tell(Arrived.BELOW);
      if (below != null) below.tell(Arrived.ABOVE);
      if (++step > steps) over.countDown();
      return Behaviors.same();
    }
  }

  static final int WARMUP_CELLS = 1 << 28;  // some 0.5 s

  static double solve(Field plate, int steps, Program program) throws InterruptedException {
    final var over = new CountDownLatch(plate.rows - 2);
    final var all = new Row[plate.rows - 2];
    final var refs = new ArrayList<ActorRef<Arrived>>();
    for (int i = 0; i < all.length; ++i) {
      all[i] = new Row(plate, i + 1, steps, over);
      refs.add(program.spawn(all[i]));
    }
    for (int i = 0; i + 1 < all.length; ++i) {
      all[i].below = refs.get(i + 1);
      all[i + 1].above = refs.get(i);
    }
    final long start = System.nanoTime();
    refs.get(0).tell(Arrived.ABOVE);
    over.await();
    final double seconds = 1e-9 * (System.nanoTime() - start);
    for (final var ref : refs) ref.tell(Arrived.OVER);
    return seconds;
  }

  public static void main(String[] arguments) throws Exception {
    final var program = new Program("heat_pekko", arguments);
    final var plate = new Field(program.number("--rows"), program.number("--columns"), program.number("--depth"));
    final int steps = program.number("--rounds");
    program.measure(warmup -> {
      plate.prepare();
      if (warmup) return solve(plate, Math.clamp(WARMUP_CELLS / plate.cells.length, 1, steps), program);
      final double seconds = solve(plate, steps, program);
      final double[] right = plate.expected(steps, program.word("--oracle"));
      final int wrong = plate.firstDifference(right);
      if (wrong >= 0) program.wrong(plate.name(wrong), plate.cells[wrong], right[wrong]);
      return seconds;
    });
  }
}
