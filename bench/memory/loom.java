// Question: how much memory does a parked virtual thread take?
//
// As parked.hpp. One carrier thread, by the driver's options.
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.locks.LockSupport;

class Loom {
  static final com.sun.management.OperatingSystemMXBean system =
      (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
  static volatile int parked, woken;  // one carrier: no two threads count at once
  static volatile boolean open;

  static long residentBytes() throws IOException {
    for (String line : Files.readAllLines(Path.of("/proc/self/smaps_rollup"))) {
      if (line.startsWith("Rss:")) return 1024 * Long.parseLong(line.replaceAll("\\D", ""));
    }
    throw new IOException("no resident bytes in /proc/self/smaps_rollup");
  }

  static void check(String what, long got, long expected) {
    if (got == expected) return;
    System.err.printf("memory_loom: wrong answer: %s is %d, expected %d%n", what, got, expected);
    System.exit(1);
  }

  public static void main(String[] arguments) throws IOException, InterruptedException {
    int n = 1000;
    for (int a = 0; a < arguments.length; a += 2) {
      final String value = a + 1 < arguments.length ? arguments[a + 1] : "";
      if (arguments[a].equals("--fibers") && value.matches("[0-9]{1,9}")) {
        n = Integer.parseInt(value);
      } else if (!arguments[a].matches("--samples|--warmup")) {
        System.err.printf("memory_loom: bad option or value: %s %s%n", arguments[a], value);
        System.exit(2);
      }
    }
    final Thread first = Thread.ofVirtual().start(() -> LockSupport.park());  // warms up
    LockSupport.unpark(first);
    first.join();
    final Thread[] all = new Thread[n];
    System.gc();
    residentBytes();  // what reading takes is not counted
    final long before = residentBytes();
    final long start = system.getProcessCpuTime();
    for (int i = 0; i < n; ++i) {
      all[i] = Thread.ofVirtual().start(() -> {
        ++parked;
        while (!open) LockSupport.park();
        ++woken;
      });
    }
    while (parked < n) Thread.sleep(1);
    final long nanoseconds = system.getProcessCpuTime() - start;
    System.gc();
    final long after = residentBytes();
    check("woken threads", woken, 0);
    open = true;
    for (Thread one : all) LockSupport.unpark(one);
    for (Thread one : all) one.join();
    check("woken threads", woken, n);
    System.out.printf("{\"seconds\": %.9f, \"checked\": true, \"resident_bytes\": %d, \"process_bytes\": %d}%n",
        1e-9 * Math.max(nanoseconds, 1), after - before, after);
  }
}
