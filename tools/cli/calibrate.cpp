/// `shunt calibrate`: barriers of two PEs, streams between them, and a histogram on one worker give the parameters
/// of the event model (tools/simulate/machine.hpp).
///
///   a barrier of two                  L + o_s + o_r
///   a train more in a stream          bytes G + g: long trains and short ones, each in a job of its own, tell the two
///                                     apart
///   a message more in a histogram     loading, and handling
///   one train each way, of more and   eager, where a length more takes a way longer than its bytes; and R, by how much
///   more bytes
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <numeric>
#include <shunt/base.hpp>
#include <shunt/pgas.hpp>
#include <span>
#include <string>
#include <vector>

#include "cli.hpp"
#include "machine.hpp"

namespace shunt::cli {
namespace {

using simulate::nanosecond;
using std::chrono::steady_clock;

/// What one message fills, with the heads around it.
constexpr std::size_t short_train = 1'024, long_train = 16'384;
constexpr std::size_t heads = 64;
/// Where trains of all lengths are tried: the shortest, the longest, and how exactly `eager` is found.
constexpr std::size_t shortest_try = 1'024, longest_try = 262'144, exactness = 2'048;

double ns_since(steady_clock::time_point start) {
  return std::chrono::duration<double, std::nano>(steady_clock::now() - start).count();
}

double median(std::vector<double> samples) {
  std::nth_element(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2), samples.end());
  return samples[samples.size() / 2];
}

/// What has not done its work has not been measured. \throws error
void check_count(const char* what, std::int64_t counted, std::int64_t wanted) {
  if (counted == wanted) return;
  throw error(error_number(1109), std::string("calibrate: ") + what + " has counted " + std::to_string(counted) +
                                      " messages of " + std::to_string(wanted));
}

/// Collective. Two workers tell each other that they are there, and neither goes on before: what jobs wait for most.
/// One of two workers may be half a way ahead, and then every other barrier takes two ways, and those between no time:
/// so many are counted together.
/// \return what a barrier takes, in ns, the median of parts
double barrier_time(pgas::pe& me, int rounds) {
  constexpr int parts = 9;
  const int each = std::max(1, rounds / parts);
  std::vector<double> samples;
  for (int part = 0; part < parts; ++part) {
    const auto start = steady_clock::now();
    for (int i = 0; i < each; ++i) me.barrier();
    samples.push_back(ns_since(start) / each);
  }
  return me.max(median(samples));
}

/// Collective. Both PEs send so many trains of one message each to the other, as the PEs of jobs do.
/// \return until all have arrived and both know, in ns
template <std::size_t Bytes>
double stream(pgas::pe& me, int trains) {
  struct message {
    void operator()(std::int64_t& n) const { n += std::to_integer<int>(bytes.front()); }
    std::array<std::byte, Bytes> bytes;
  };
  pgas::symmetric<std::int64_t> sum(me, 0);
  pgas::actor_of to(sum);
  static const message one{{std::byte{1}}};
  me.barrier();
  const auto start = steady_clock::now();
  for (int i = 0; i < trains; ++i) to.send(1 - me.index(), one);
  to.finish();
  const double ns = ns_since(start);
  check_count("a stream of trains", *sum, trains);
  return me.max(ns);
}

/// Collective. What one train more takes: the median of long streams without that of short ones.
template <std::size_t Bytes>
double ns_a_train(pgas::pe& me, int trains) {
  std::vector<double> few, many;
  for (int i = 0; i < 7; ++i) {
    few.push_back(stream<Bytes>(me, trains));
    many.push_back(stream<Bytes>(me, 4 * trains));
  }
  return std::max(0.0, (median(many) - median(few)) / (3 * trains));
}

/// Collective. One train each way, and the end of the superstep, in ns.
double superstep_time(pgas::pe& me, std::size_t train, int supersteps) {
  constexpr int parts = 5;
  const int each = std::max(1, supersteps / parts);
  const std::vector<std::byte> payload(train - 2 * heads);  // with a length of its own
  pgas::symmetric<std::int64_t> sum(me, 0);
  pgas::actor_of to(sum);
  std::vector<double> samples;
  me.barrier();
  // Several together: one PE may come out of a superstep a way ahead of the other.
  for (int part = 0; part < parts; ++part) {
    const auto start = steady_clock::now();
    for (int i = 0; i < each; ++i) {
      to.send(1 - me.index(), std::span<const std::byte>(payload),
              [](std::int64_t& n, std::span<const std::byte> bytes) { n += static_cast<std::int64_t>(bytes.size()); });
      to.finish();
    }
    samples.push_back(ns_since(start) / each);
  }
  check_count("a superstep of one train", *sum, static_cast<std::int64_t>(payload.size()) * each * parts);
  return me.max(median(samples));
}

/// Collective. Lengths twice as long take twice the time more, as long as only their bytes count: the length that takes
/// a whole way more is the first that asks. Both PEs see the same times, and go the same way.
/// \param one_way  what a barrier takes
simulate::line asking_of(pgas::pe& me, double one_way, int supersteps) {
  const auto time = [&](std::size_t train) { return superstep_time(me, train, supersteps); };
  double before = time(shortest_try), at_low = time(2 * shortest_try), slope = 0, low_time = 0, answer = 0;
  std::size_t low = 0, high = 0;
  for (std::size_t train = 4 * shortest_try; train <= longest_try; train *= 2) {
    const double now = time(train), a_byte = std::max(0.0, at_low - before) / static_cast<double>(train / 4);
    const double more = now - at_low - a_byte * static_cast<double>(train / 2);
    if (more > std::max(answer, one_way)) {
      answer = more;
      low = train / 2;
      high = train;
      slope = a_byte;
      low_time = at_low;
    }
    before = at_low;
    at_low = now;
  }
  simulate::line found;
  if (answer == 0) return found;
  for (const std::size_t from = low; high - low > exactness;) {
    const std::size_t middle = (low + high) / 2;
    const double bytes_alone = low_time + slope * static_cast<double>(middle - from);
    (time(middle) - bytes_alone > answer / 2 ? high : low) = middle;
  }
  found.eager = static_cast<std::int64_t>(low);
  found.answer = static_cast<simulate::picoseconds>(std::llround(answer * nanosecond));
  return found;
}

/// What the way between two workers is like.
struct way {
  simulate::line measured;
  bool network = false, processes = false;
};

/// Collective. Rank 0's PE notes what it has found of the line, and what kind of line that is.
void note(way& found, pgas::pe& me, const simulate::line& measured) {
  const auto moved = me.traffic();
  if (me.rank() != 0 || me.index() != 0) return;
  found = {measured, moved.network_bytes > 0, me.ranks() > 1};
}

/// Which trains ask before they leave; of the line nothing else is measured.
way way_of_long(const pgas::options& wanted, int rounds) {
  way found;
  pgas::run(wanted,
            [&](pgas::pe& me) { note(found, me, asking_of(me, barrier_time(me, rounds), std::max(5, rounds / 10))); });
  if (!found.network) found.measured = {};  // in memory no train asks: what a length takes more there, caches take
  return found;
}

/// \param known  what long trains have shown before; null: nothing
way way_of(const pgas::options& wanted, int rounds, const simulate::line* known) {
  way found;
  pgas::run(wanted, [&](pgas::pe& me) {
    const double one_way = barrier_time(me, rounds);
    const bool in_short = me.train_bytes() < long_train;
    const double a_train =
        in_short ? ns_a_train<short_train - heads>(me, rounds) : ns_a_train<long_train - heads>(me, rounds);
    // Of long trains g is not seen; short ones show it to whom knows what long ones take.
    const double bytes = static_cast<double>(in_short ? short_train : long_train);
    double a_byte = a_train / bytes, after = 0;
    if (in_short && known != nullptr) {
      const double long_one =
          (static_cast<double>(known->gap) + static_cast<double>(known->for_bytes(long_train))) / 1e3;
      a_byte = std::max(0.0, long_one - a_train) / static_cast<double>(long_train - short_train);
      after = std::max(0.0, a_train - a_byte * bytes);
    }
    const double overhead = std::min(a_train, one_way) / 4;
    const auto ps = [](double ns) { return static_cast<simulate::picoseconds>(std::llround(ns * nanosecond)); };
    note(found, me,
         {ps(std::max(0.0, one_way - 2 * overhead)), ps(overhead), ps(overhead), ps(me.ranks() > 1 ? after : 0),
          std::llround(a_byte * 1e6)});
  });
  return found;
}

/// Loading and handling of a message, in ns: a histogram of one worker.
std::pair<double, double> message_costs() {
  constexpr int updates = 2'000'000;
  constexpr std::uint32_t spots = 1'000;
  pgas::recording seen;
  pgas::options one;
  one.pes = 2;
  one.transport = "threads";
  const pgas::record_next_job recorded(seen);
  pgas::run(one, [&](pgas::pe& me) {
    std::vector<std::uint32_t> places(updates);
    const counter_random random(1, me.index());
    for (std::uint64_t i = 0; i != updates; ++i) places[i] = static_cast<std::uint32_t>(random.below(i, 2 * spots));
    pgas::symmetric<std::vector<std::int64_t>> table(me, spots);
    me.barrier();
    pgas::actor_of counter(table);
    for (const auto p : places)
      counter.send(static_cast<int>(p % 2), [spot = p / 2](std::vector<std::int64_t>& t) { ++t[spot]; });
    counter.finish();
    const auto counted = me.sum(std::accumulate(table->begin(), table->end(), std::int64_t{0}));
    check_count("a histogram", counted, std::int64_t{updates} * me.count());
  });
  for (const auto& s : seen.supersteps()) {
    if (s.flows.empty()) continue;
    const double send = static_cast<double>(s.program_ps) / 1e3 / static_cast<double>(s.flows[0].messages);
    return {send, static_cast<double>(s.flows[0].handler_ps) / 1e3};
  }
  return {0, 0};
}

}  // namespace

int calibrate(std::vector<std::string> words) {
  const auto known = take(words, "--machine"), out = take(words, "--out");
  const auto trains = take(words, "--trains").value_or("long");
  const bool in_short = trains == "short", asking = trains == "longest";
  if (!in_short && !asking && trains != "long") {
    throw usage_error(error_number(1102), "--trains " + trains + ": must be long, short or longest");
  }
  const auto rounds = static_cast<int>(parse_count("--rounds", take(words, "--rounds").value_or("400"), 4, 1'000'000));
  if (!words.empty()) throw usage_error(error_number(1101), "calibrate: unexpected `" + words[0] + "`");
  const bool alone = !pgas::under_launcher();
  if (asking && (alone || !known)) {
    throw usage_error(error_number(1103),
                      "--trains longest: needs two ranks, and --machine FILE with what else is known of their line");
  }
  simulate::machine m;
  if (known) m = simulate::machine_in(*known);
  auto wanted = pgas::options_from_environment();
  wanted.pes = 2;
  wanted.train_bytes = asking ? longest_try : in_short ? short_train : long_train;
  wanted.workers = alone ? 2 : 1;
  wanted.name = "shunt calibrate";
  const auto [send, handle] = message_costs();
  const way found =
      asking ? way_of_long(wanted, rounds) : way_of(wanted, rounds, known && !alone ? &m.between_nodes : nullptr);
  if (rank_by_launcher() != 0) return 0;
  m.send_message = static_cast<simulate::picoseconds>(std::llround(send * nanosecond));
  m.handle_message = static_cast<simulate::picoseconds>(std::llround(handle * nanosecond));
  const char* const which = found.network ? "between_nodes" : found.processes ? "within_node" : "within_rank";
  auto& line = found.network ? m.between_nodes : found.processes ? m.within_node : m.within_rank;
  if (!known) {
    m.name = "calibrated";
    m.nodes = found.network ? 2 : 1;
    m.ranks_a_node = found.processes && !found.network ? 2 : 1;
    m.workers_a_rank = alone ? default_workers() : 1;
    m.within_rank = m.within_node = m.between_nodes = found.measured;
    m.source = std::string("measured by shunt calibrate: ") + which + "; the other lines are copies of it";
  } else {
    m.source += std::string(m.source.empty() ? "" : "; ") + which + " and costs of messages by shunt calibrate";
  }
  auto measured = asking ? line : found.measured;
  measured.eager = asking ? found.measured.eager : line.eager;
  measured.answer = asking ? found.measured.answer : line.answer;
  line = measured;
  const auto text = text_of(m);
  if (!out) {
    fmt::print("{}", text);
    return 0;
  }
  std::ofstream file(*out, std::ios::binary);
  file << text << std::flush;
  if (!file) throw usage_error(error_number(1104), "--out " + *out + ": cannot be written");
  return 0;
}

}  // namespace shunt::cli
