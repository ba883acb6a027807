#include <shunt/pgas/network_speed.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <new>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <vector>

#include <shunt/base/block.hpp>
#include <shunt/base/machine.hpp>
#include <shunt/pgas/detail/network_probe.hpp>
#include <shunt/pgas/detail/start_agreement.hpp>
#include <shunt/pgas/options.hpp>
#include <shunt/rail/train.hpp>
#include <shunt/rail/train_inbox.hpp>
#include <shunt/transport/processes.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {
namespace {

using probe_clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr int pings = 9;
/// Bytes that a measurement of throughput moves, and how often; not again after so long.
constexpr std::size_t burst = std::size_t{1} << 20;
constexpr int most_bursts = 3;
constexpr milliseconds long_enough{50};
/// A network that takes longer for so many trains moves less than 13 MB/s, or is far: there a train's own cost is small
/// beside that of its bytes, or of the way.
constexpr std::size_t first_trains = 8;
constexpr double slow_seconds = 0.010;
constexpr milliseconds probe_beat_interval{100};
constexpr std::size_t short_train = 64;
/// So much more must longer trains move: what is less may be chance, and shorter ones overlap better.
constexpr double worth_it = 8.0 / 7;

/// What a train says, in its first byte.
enum class word : unsigned char { data, last, answer, over };

/// One of the two ranks, with trains of its own. They lie here until the service has stopped: the transport has them.
class network_probe {
 public:
  network_probe(transport::carrier& over, int other) : over_(over), other_(other) {
    for (std::size_t i = 0; i < most_receive_trains; ++i) {
      memory_.emplace_back(sizeof(rail::train) + long_train, alignof(rail::train));
      auto& t = *::new (memory_.back().data()) rail::train;
      std::fill_n(t.goods(), long_train, std::byte{0});
      t.home = &home_;
      t.capacity = static_cast<std::uint32_t>(long_train);
      free_.push_back(t);
    }
    at_home_ = memory_.size();
  }

  /// Of the rank that asks.
  network_speed ask() {
    std::vector<double> ways, usual, longer;
    for (int i = 0; i < pings; ++i) ways.push_back(time_of(1, short_train) / 2);
    const auto rate = [](std::size_t bytes, double seconds) {
      return static_cast<double>(bytes) / std::max(seconds, 1e-9);
    };
    network_speed found{nanoseconds(static_cast<nanoseconds::rep>(median_of(ways) * 1e9)), 0, 0};
    const auto begun = probe_clock::now();
    if (const double first = time_of(first_trains, usual_train); first > slow_seconds) {
      found.in_usual_trains = found.in_long_trains = rate(first_trains * usual_train, first);
      return end_with(found);
    }
    for (int i = 0; i < most_bursts && (i == 0 || probe_clock::now() - begun < long_enough); ++i) {
      usual.push_back(time_of(burst / usual_train, usual_train));
      longer.push_back(time_of(burst / long_train, long_train));
    }
    found.in_usual_trains = rate(burst / usual_train * usual_train, median_of(usual));
    found.in_long_trains = rate(burst / long_train * long_train, median_of(longer));
    return end_with(found);
  }

  /// Of the other one.
  void answer() {
    while (await() != word::over) send(word::answer, short_train);
    come_to_rest();
  }

 private:
  static double median_of(std::vector<double> samples) {
    std::sort(samples.begin(), samples.end());
    return samples[samples.size() / 2];
  }

  network_speed end_with(const network_speed& found) {
    send(word::over, short_train);
    come_to_rest();
    return found;
  }

  /// Seconds from the first of so many trains to the answer to the last.
  double time_of(std::size_t trains, std::size_t bytes) {
    const auto begin = probe_clock::now();
    for (std::size_t i = 1; i <= trains; ++i) send(i == trains ? word::last : word::data, bytes);
    static_cast<void>(await());
    return std::chrono::duration<double>(probe_clock::now() - begin).count();
  }

  void send(word what, std::size_t bytes) {
    while (free_.empty()) turn();
    rail::train& t = free_.pop_front();
    --at_home_;
    t.head = {};
    t.head.bytes = static_cast<std::uint32_t>(bytes);
    t.goods()[0] = std::byte{static_cast<unsigned char>(what)};
    over_.send(t, other_);
  }

  word await() {
    while (heard_.empty()) turn();
    const word first = heard_.front();
    heard_.pop_front();
    return first;
  }

  void come_to_rest() {
    while (at_home_ < memory_.size()) turn();
  }

  void turn() {
    rail::train_list arrived;
    const bool moved = over_.poll(arrived);
    while (!arrived.empty()) {
      rail::train& t = arrived.pop_front();
      const word what{std::to_integer<unsigned char>(t.goods()[0])};
      if (what != word::data) heard_.push_back(what);
      rail::send_home(t);
    }
    for (rail::train* t = home_.arrivals(); t != nullptr;) {
      rail::train* const following = t->next;
      free_.push_back(*t);
      ++at_home_;
      t = following;
    }
    if (!moved) std::this_thread::yield();
    if (const auto now = probe_clock::now(); now >= next_beat_) {
      next_beat_ = now + probe_beat_interval;
      if (const auto lost = over_.beat()) {
        throw std::runtime_error("rank " + std::to_string(lost->rank) + " " + lost->why + "; the job ends");
      }
    }
  }

  transport::carrier& over_;
  const int other_;
  std::vector<block> memory_;
  rail::train_inbox home_;  // never armed
  rail::train_list free_;
  std::size_t at_home_ = 0;
  std::deque<word> heard_;
  probe_clock::time_point next_beat_ = probe_clock::now() + probe_beat_interval;
};

}  // namespace

network_speed measure_between(transport::carrier& over, int asks, int answers, milliseconds deadline,
                              const std::string& name) {
  over.start({.capacity = long_train, .receive_trains = most_receive_trains, .deadline = deadline});
  std::ostringstream found;
  found.precision(17);
  std::optional<network_probe> mine;  // outlives a failure: the transport may still have its trains
  try {
    if (over.rank() == asks) {
      const auto speed = mine.emplace(over, answers).ask();
      found << speed.one_way.count() << ' ' << speed.in_usual_trains << ' ' << speed.in_long_trains;
    } else if (over.rank() == answers) {
      mine.emplace(over, asks).answer();
    }
    over.stop();
  } catch (const std::exception& failed) {  // the transport has trains, and other ranks serve: none of them can go on
    std::fprintf(stderr, "%s%s\n", name.empty() ? "" : (name + ": ").c_str(), failed.what());
    std::fflush(nullptr);
    transport::let_launcher_read();
    over.abort(EXIT_FAILURE);
  }
  network_speed known;
  nanoseconds::rep one_way = 0;
  std::istringstream(exchange_at_start(over, found.str())[static_cast<std::size_t>(asks)]) >> one_way >>
      known.in_usual_trains >> known.in_long_trains;
  known.one_way = nanoseconds(one_way);
  return known;
}

}  // namespace detail

std::size_t network_speed::longest_train() const noexcept {
  return in_long_trains > detail::worth_it * in_usual_trains ? long_train : usual_train;
}

std::string network_speed::text() const {
  const bool longer = longest_train() == long_train;
  char made[256];
  std::snprintf(made, sizeof made,
                "%.1f us one way; trains of %zu KiB move %.0f MB/s, of %zu KiB %.0f MB/s: those of %zu KiB are taken, "
                "as far as budgets go (%s)",
                std::chrono::duration<double, std::micro>(one_way).count(), usual_train >> 10, in_usual_trains / 1e6,
                long_train >> 10, in_long_trains / 1e6, longest_train() >> 10,
                longer ? "longer ones are faster" : "longer ones are not a seventh faster");
  return made;
}

std::optional<network_speed> measure_network(transport::carrier& over, std::chrono::milliseconds deadline,
                                             const std::string& name) {
  if (over.ranks_here() == over.ranks()) return std::nullopt;
  const auto machines = detail::exchange_at_start(over, machine_identity());
  const auto other = std::ranges::find_if(machines, [&](const std::string& m) { return m != machines[0]; });
  if (other == machines.end()) return std::nullopt;
  return detail::measure_between(over, 0, static_cast<int>(other - machines.begin()), deadline, name);
}

}  // namespace pgas
}  // namespace v1
}  // namespace shunt
