// Question: what do Pekko's typed actors reach, an actor a row, as in the published listing?
//
// A message says that a row may use the one above it, or below it, and that its sender has done with that row for now.
// The kernel is field.hpp's.
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.concurrent.CountDownLatch;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.javadsl.Behaviors;

/** What field.hpp has. */
final class Field {
  private static final long SEED = 20240229;
  private static final long GAMMA = 0x9e3779b97f4a7c15L;
  final int rows;
  final int columns;
  final double[] cells;

  Field(int rows, int columns) {
    this.rows = rows;
    this.columns = columns;
    cells = new double[rows * columns];
  }

  private static long mix(long x) {
    x = (x ^ x >>> 30) * 0xbf58476d1ce4e5b9L;
    x = (x ^ x >>> 27) * 0x94d049bb133111ebL;
    return x ^ x >>> 31;
  }

  void prepare() {
    for (int i = 0; i < cells.length; ++i) cells[i] = mix(mix(SEED + GAMMA) + GAMMA * (i + 1)) >>> 33;
  }

  void compute(int row) {
    final int begin = row * columns;
    double before = cells[begin];
    for (int i = begin + 1; i < begin + columns - 1; ++i) {
      before = (before + cells[i + 1] + cells[i - columns] + cells[i + columns]) * 0.25;
      cells[i] = before;
    }
  }
}

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

  /** The sequential result: what another program of the table has left in that file, or anew, for the next ones. */
  static double[] expected(Field like, int steps, String file) throws IOException {
    if (!file.isEmpty() && Files.exists(Path.of(file))) {
      final var found = new double[like.cells.length];
      ByteBuffer.wrap(Files.readAllBytes(Path.of(file))).order(ByteOrder.nativeOrder()).asDoubleBuffer().get(found);
      return found;
    }
    final var made = new Field(like.rows, like.columns);
    made.prepare();
    for (int t = 0; t < steps; ++t) {
      for (int row = 1; row < made.rows - 1; ++row) made.compute(row);
    }
    if (!file.isEmpty()) {
      final var bytes = ByteBuffer.allocate(8 * made.cells.length).order(ByteOrder.nativeOrder());
      bytes.asDoubleBuffer().put(made.cells);
      Files.write(Path.of(file + ".part"), bytes.array());
      Files.move(Path.of(file + ".part"), Path.of(file));
    }
    return made.cells;
  }

  public static void main(String[] arguments) throws Exception {
    final var program = new Program("heat_pekko", arguments);
    final var plate = new Field(program.number("--rows"), program.number("--columns"));
    final int steps = program.number("--rounds");
    program.measure(warmup -> {
      plate.prepare();
      if (warmup) return solve(plate, Math.clamp(WARMUP_CELLS / plate.cells.length, 1, steps), program);
      final double seconds = solve(plate, steps, program);
      final double[] right = expected(plate, steps, program.word("--oracle"));
      for (int i = 0; i < right.length; ++i) {
        if (Double.doubleToRawLongBits(plate.cells[i]) == Double.doubleToRawLongBits(right[i])) continue;
        program.wrong("cell " + i % plate.columns + " of row " + i / plate.columns, plate.cells[i], right[i]);
      }
      return seconds;
    });
  }
}
