// Every PE reads a connection of its own, and counts each line where it belongs: sockets and messages in one program.
#include <cstdio>
#include <numeric>
#include <shunt/io.hpp>
#include <shunt/pgas.hpp>
#include <shunt/task.hpp>
#include <string>

namespace {
constexpr unsigned keys = 1000, lines = 10 * keys;

/// Stands for an instrument: sends every key ten times, one a line.
void instrument(const shunt::io::address& to, unsigned first) {
  std::string all;
  for (unsigned i = 0; i < lines; ++i) all += std::to_string((first + i * 7919) % keys) + "\n";
  shunt::io::connect(to).write(all);
}
}  // namespace

int main(int argc, char** argv) {
  return shunt::pgas::launch(argc, argv, [](shunt::pgas::pe& me) {
    shunt::pgas::symmetric<std::vector<long>> seen(me, keys);
    shunt::pgas::actor_of counter(seen);

    auto door = shunt::io::listen("127.0.0.1:0");
    shunt::fiber source([&] { instrument(door.local(), unsigned(me.index())); });
    auto peer = door.accept();  // this PE waits; others on its worker run, and messages are processed
    for (auto line = peer.read_until("\n", 8); !line.empty(); line = peer.read_until("\n", 8)) {
      const unsigned key = unsigned(std::stoul(line));
      counter.send(int(key) % me.count(), [key](auto& counts) { ++counts[key]; });
    }
    source.join();
    counter.finish();

    bool right = true;
    for (unsigned k = 0; k < keys; ++k) {
      right &= (*seen)[k] == (int(k) % me.count() == me.index() ? 10L * me.count() : 0);
    }
    if (me.min(int(right)) == 0) throw shunt::error("a line was counted in the wrong place, or not at all");
    const long sum = me.sum(std::accumulate(seen->begin(), seen->end(), 0L));
    if (me.index() == 0) std::printf("feeds: %ld lines of %d feeds\n", sum, me.count());
  });
}
