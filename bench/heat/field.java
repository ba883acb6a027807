// The problem of table `heat`, as field.hpp has it.
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;

/** A plate, or with `depth` a body: then a row is a plane of columns x depth. */
final class Field {
  private static final long SEED = 20240229;
  private static final long GAMMA = 0x9e3779b97f4a7c15L;
  final int rows;
  final int columns;
  final int depth;
  final double[] cells;

  Field(int rows, int columns, int depth) {
    this.rows = rows;
    this.columns = columns;
    this.depth = Math.max(1, depth);
    cells = new double[rows * columns * this.depth];
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
    if (depth > 1) {
      computePlane(row);
      return;
    }
    final int begin = row * columns;
    double before = cells[begin];
    for (int i = begin + 1; i < begin + columns - 1; ++i) {
      before = (before + cells[i + 1] + cells[i - columns] + cells[i + columns]) * 0.25;
      cells[i] = before;
    }
  }

  private void computePlane(int row) {
    final int plane = columns * depth;
    for (int j = 1; j < columns - 1; ++j) {
      final int begin = row * plane + j * depth;
      double before = cells[begin];
      for (int i = begin + 1; i < begin + depth - 1; ++i) {
        before = (before + cells[i + 1] + cells[i - depth] + cells[i + depth] + cells[i - plane] + cells[i + plane])
            * (1.0 / 6);
        cells[i] = before;
      }
    }
  }

  void computeInOrder(int steps) {
    for (int t = 0; t < steps; ++t) {
      for (int row = 1; row < rows - 1; ++row) compute(row);
    }
  }

  /** The sequential result: what another program of the table has left in that file, or anew, for the next ones. */
  double[] expected(int steps, String file) throws IOException {
    if (!file.isEmpty() && Files.exists(Path.of(file))) {
      final var found = new double[cells.length];
      ByteBuffer.wrap(Files.readAllBytes(Path.of(file))).order(ByteOrder.nativeOrder()).asDoubleBuffer().get(found);
      return found;
    }
    final var made = new Field(rows, columns, depth);
    made.prepare();
    made.computeInOrder(steps);
    if (!file.isEmpty()) {
      final var bytes = ByteBuffer.allocate(8 * made.cells.length).order(ByteOrder.nativeOrder());
      bytes.asDoubleBuffer().put(made.cells);
      Files.write(Path.of(file + ".part"), bytes.array());
      Files.move(Path.of(file + ".part"), Path.of(file));
    }
    return made.cells;
  }

  /** The first cell that is not `right` to the last bit; -1: none. */
  int firstDifference(double[] right) {
    for (int i = 0; i < right.length; ++i) {
      if (Double.doubleToRawLongBits(cells[i]) != Double.doubleToRawLongBits(right[i])) return i;
    }
    return -1;
  }

  String name(int cell) {
    return "cell " + cell % (columns * depth) + " of row " + cell / (columns * depth);
  }
}
