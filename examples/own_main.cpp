// A main of one's own: options in code, the result of a job, and what is thrown when a job fails.
#include <shunt/pgas.hpp>

#include <cstdio>
#include <string>
#include <vector>

int main() {
  try {
    auto wanted = shunt::pgas::options_from_environment();  // SHUNT_… variables; this also finds misspelt ones
    wanted.name = "own_main";
    wanted.transport = "threads";
    wanted.pes = 6;
    wanted.workers = 2;

    long sum = 0;
    shunt::pgas::run(wanted, [&sum](shunt::pgas::pe& me) {
      const long all = me.sum(long{me.index()});
      if (me.index() == 0) sum = all;  // one PE writes: the others may run on other threads
    });
    if (sum != 15) return 1;

    // An exception that leaves a PE's program, or a handler, ends the job. It is thrown here with the PE's number.
    try {
      shunt::pgas::run(wanted, [](shunt::pgas::pe& me) {
        shunt::pgas::symmetric<std::vector<int>> table(me, 4);
        shunt::pgas::actor_of counter(table);
        counter.send(0, [](std::vector<int>& part) { ++part.at(1000); });
        counter.finish();
      });
      return 1;
    } catch (const shunt::error& failed) {
      std::printf("as intended: %s\n", failed.what());
      if (std::string(failed.what()).find("own_main: PE 0: handler") != 0) return 1;
    }

    // Impossible options are refused before anything starts.
    wanted.pes = 100'000;
    shunt::pgas::run(wanted, [](shunt::pgas::pe&) {});
    return 1;
  } catch (const shunt::usage_error& bad) {
    std::printf("as intended: %s\n", bad.what());
    return 0;
  } catch (const shunt::error& bad) {
    std::fprintf(stderr, "%s\n", bad.what());
    return 1;
  }
}
