// Question: what does one thread of a JVM need for it?
import java.util.HashMap;
import java.util.Map;

class Sequential {
  static final int WARMUP_CELLS = 1 << 28;  // some 0.5 s: what is measured is compiled code

  static void fail(int status, String message, Object... values) {
    System.err.printf("heat_java: " + message + "%n", values);
    System.exit(status);
  }

  static int number(Map<String, String> options, String name) {
    try {
      return Integer.parseUnsignedInt(options.get(name));
    } catch (NumberFormatException problem) {
      fail(2, "bad option or value: %s %s", name, options.get(name));
      return 0;
    }
  }

  public static void main(String[] arguments) throws Exception {
    final var options = new HashMap<>(Map.of("--pes", "1", "--rows", "400", "--columns", "800", "--depth", "0",
        "--rounds", "800", "--samples", "5", "--warmup", "1", "--oracle", ""));
    for (int i = 0; i < arguments.length; i += 2) {
      if (!options.containsKey(arguments[i]) || i + 1 == arguments.length) {
        fail(2, "bad option or value: %s %s", arguments[i], "");
      }
      options.put(arguments[i], arguments[i + 1]);
    }
    final var plate = new Field(number(options, "--rows"), number(options, "--columns"), number(options, "--depth"));
    final int steps = number(options, "--rounds");
    final int warmup = number(options, "--warmup") + 1;
    for (int round = 0; round < warmup + number(options, "--samples"); ++round) {
      plate.prepare();
      final int now = round < warmup ? Math.clamp(WARMUP_CELLS / plate.cells.length, 1, steps) : steps;
      final long start = System.nanoTime();
      plate.computeInOrder(now);
      final double seconds = 1e-9 * (System.nanoTime() - start);
      if (round < warmup) continue;
      final double[] right = plate.expected(steps, options.get("--oracle"));
      final int wrong = plate.firstDifference(right);
      if (wrong >= 0) {
        fail(1, "wrong answer: %s is %.17g, expected %.17g", plate.name(wrong), plate.cells[wrong], right[wrong]);
      }
      System.out.printf("{\"seconds\": %.9f, \"checked\": true}%n", seconds);
    }
  }
}
