/// A job that may be killed at any time: walkers on cells, their visits counted, with parts of every kind. Its answer
/// does not depend on the number of ranks, nor on the order of messages.
///
///   checkpoint_job [--steps N] [--walkers N] [options of a job]
///       prints "hash H", H in hexadecimal digits
///   checkpoint_job --measure N [--bytes N] [options of a job]
///       prints what N calls of save_if_due() take that are not due; and for a part of so many bytes on each PE, for
///       how long save() stops the program, when it is written, and what as many bytes in one file take
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include <shunt/base/parse.hpp>
#include <shunt/base/random.hpp>
#include <shunt/pgas.hpp>
#include <shunt/pgas/containers.hpp>

namespace {

namespace pgas = shunt::pgas;

constexpr std::uint64_t cells = 997;

struct walker {
  std::uint32_t number = 0;
  std::uint32_t cell = 0;
};

/// The walkers of a PE, and those that have come for the next step.
struct crowd {
  std::vector<walker> here, next;

  void save(pgas::checkpoint_writer& to) const { to.put(here); }
  void load(pgas::checkpoint_reader& from) { from.get(here); }
};

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) { return shunt::counter_random(a).at(b); }

std::uint64_t hash_of(const pgas::array<long>& visits, const pgas::map<std::string, long>& by_name,
                      const pgas::set<std::uint64_t>& seen, const pgas::bag<int>& left, const crowd& walkers) {
  std::uint64_t sum = 0;
  for (std::size_t spot = 0; spot != visits.local().size(); ++spot)
    sum += mixed(visits.index_of(spot), static_cast<std::uint64_t>(visits.local()[spot]));
  for (const auto& [name, n] : by_name.local()) {
    std::uint64_t text = 7;
    for (const char c : name) text = mixed(text, static_cast<unsigned char>(c));
    sum += mixed(text, static_cast<std::uint64_t>(n));
  }
  for (const auto key : seen.local()) sum += mixed(3, key);
  for (const int item : left.local()) sum += mixed(5, static_cast<std::uint64_t>(item));
  for (const walker& w : walkers.here) sum += mixed(w.number, w.cell);
  return sum;
}

void walk(pgas::pe& me, std::uint64_t steps, std::uint32_t walkers) {
  std::uint64_t step = 0;
  pgas::array<long> visits(me, cells);
  pgas::map<std::string, long> by_name(me);
  pgas::set<std::uint64_t> seen(me);
  pgas::bag<int> left(me);
  pgas::symmetric<crowd> all(me);
  pgas::actor_of moves(all);
  const auto pes = static_cast<std::uint32_t>(me.count());
  for (std::uint32_t w = static_cast<std::uint32_t>(me.index()); w < walkers; w += pes) all->here.push_back({w, 0});
  pgas::checkpoint saved(me, "walk", pgas::named("step", step), visits, by_name, seen, left, all);
  if (saved.restored() && me.index() == 0) {
    std::printf("restored at step %llu\n", static_cast<unsigned long long>(step));
    std::fflush(stdout);
  }
  for (; step != steps; ++step) {
    saved.save_if_due();
    pgas::superstep(me, [&] {
      for (const walker& w : all->here) {
        ++visits[w.cell];
        ++by_name["walker " + std::to_string(w.number % 17)];
        seen.insert(std::uint64_t{w.cell} << 32U | w.number);
        if (w.cell == 0 && w.number % 5 == 0) left.insert(static_cast<int>(w.number));
      }
    });
    for (const walker& w : all->here) {
      const auto cell = static_cast<std::uint32_t>(shunt::counter_random(w.number).below(step, cells));
      moves.send(static_cast<int>(cell % pes), [w = walker{w.number, cell}](crowd& c) { c.next.push_back(w); });
    }
    moves.finish();
    all->here.swap(all->next);
    all->next.clear();
    me.barrier();  // no walker of the next step comes before
  }
  const auto sum = me.sum(hash_of(visits, by_name, seen, left, *all));
  if (me.index() == 0) std::printf("hash %016llx\n", static_cast<unsigned long long>(sum));
}

class watch {
 public:
  [[nodiscard]] double ms() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begun_).count();
  }

 private:
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

/// As many bytes into one file, and onto the disk.
double plain_file_ms(const std::string& path, const std::vector<char>& bytes, int times) {
  const watch time;
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  for (int i = 0; i != times; ++i) {
    for (std::size_t at = 0; at != bytes.size();) {
      const auto n = ::write(fd, bytes.data() + at, bytes.size() - at);
      if (n <= 0) throw shunt::error("write");
      at += static_cast<std::size_t>(n);
    }
  }
  if (::fsync(fd) != 0 || ::close(fd) != 0) throw shunt::error("fsync");
  const double ms = time.ms();
  ::unlink(path.c_str());
  return ms;
}

void measure(pgas::pe& me, std::uint64_t calls, std::size_t bytes, const std::string& directory) {
  std::vector<char> part(bytes, 'x');
  pgas::checkpoint saved(me, "measure", part);
  const watch all;
  for (std::uint64_t i = 0; i != calls; ++i) static_cast<void>(saved.save_if_due());
  if (me.index() == 0) std::printf("%.1f ns a call\n", 1e6 * all.ms() / static_cast<double>(calls));
  if (bytes == 0) return;
  for (int i = 0; i != 3; ++i) {
    const watch time;
    static_cast<void>(saved.save());
    const double stopped = time.ms();
    static_cast<void>(saved.wait());
    const double written = time.ms();
    me.barrier();
    if (me.index() != 0) continue;
    std::printf("%.0f ms stopped, written after %.0f ms; a plain file %.0f ms\n", stopped, written,
                plain_file_ms(directory + "/plain", part, me.count()));
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t steps = 1000, walkers = 600, calls = 0, bytes = 0;
  std::string directory;
  // The job's own options stay for launch().
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word(argv[i]);
    auto* const number = word == "--steps"     ? &steps
                         : word == "--walkers" ? &walkers
                         : word == "--measure" ? &calls
                         : word == "--bytes"   ? &bytes
                                               : nullptr;
    if (word == "--checkpoint" && i + 1 < argc) directory = argv[i + 1];
    if (number != nullptr && i + 1 < argc) {
      *number = shunt::parse_count(word, argv[++i], 1, 1U << 30U);
    } else {
      argv[kept++] = argv[i];
    }
  }
  argv[argc = kept] = nullptr;
  return pgas::launch(argc, argv, [&](pgas::pe& me) {
    if (calls != 0) return measure(me, calls, bytes, directory);
    walk(me, steps, static_cast<std::uint32_t>(walkers));
  });
}
