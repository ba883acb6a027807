/// `shunt simulate`: runs an application with all its PEs in this process, records what they send to each other, and
/// lays that over a described machine. Row by row of a table of weak scaling: each row is a run of its own.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <nlohmann/json.hpp>
#include <report.hpp>
#include <shunt/base.hpp>
#include <shunt/pgas/launch.hpp>
#include <shunt/pgas/recording.hpp>

#include "cli.hpp"
#include "event_model.hpp"
#include "machine.hpp"
#include "placement.hpp"

namespace shunt::cli {
namespace {

using namespace shunt::simulate;

/// What the command line says.
struct wish {
  const apps::app* app = nullptr;
  shunt::simulate::machine on;
  int first = 2, last = 2048, follow = 0;
  costs at_costs;
  std::uint64_t seed = 1;
  bool as_json = false;
  pgas::options job;
  std::vector<std::string> rest;  // the application's words, its name first
};

/// A row of the table.
struct row {
  int pes = 0, nodes = 0, workers = 0, followed = 0;
  placed_job job;
  std::uint64_t messages = 0;  // of all PEs, as many as they stand for
  outcome result;
};

/// So that 65,536 PEs fit where one PE of the study's sizes would: how much of the work each PE has, unless told.
struct small_run {
  std::string_view app, option, value;
};
constexpr small_run small_runs[] = {{"histogram", "--updates", "1000"},
                                    {"index_gather", "--reads", "1000"},
                                    {"topological_sort", "--rows", "100"},
                                    {"triangle", "--scale", "12"}};

/// While it lives, what the application prints on standard output goes nowhere.
class hushed {
 public:
  hushed() {
    std::fflush(stdout);
    kept_ = ::dup(STDOUT_FILENO);
    const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere < 0) return;
    ::dup2(nowhere, STDOUT_FILENO);
    ::close(nowhere);
  }
  hushed(const hushed&) = delete;
  hushed& operator=(const hushed&) = delete;
  ~hushed() {
    std::fflush(stdout);
    if (kept_ < 0) return;
    ::dup2(kept_, STDOUT_FILENO);
    ::close(kept_);
  }

 private:
  int kept_;
};

wish wish_of(std::vector<std::string> words) {
  wish w;
  w.app = &find_app(words[0]);
  const auto file = take(words, "--machine");
  if (!file) throw usage_error(error_number(1101), "simulate: on which machine? --machine FILE describes it");
  w.on = machine_in(*file);
  w.last = static_cast<int>(parse_count("--pes", take(words, "--pes").value_or("2048"), 1, 65'536));
  w.first = static_cast<int>(parse_count("--from", take(words, "--from").value_or("2"), 1, 65'536));
  w.first = std::min(w.first, w.last);
  w.follow = static_cast<int>(parse_count("--follow", take(words, "--follow").value_or("0"), 0, 65'536));
  if (choice(words, "--network", "described", "ideal") == "ideal") w.on.make_network_ideal();
  w.at_costs.measured = choice(words, "--costs", "described", "measured") == "measured";
  w.at_costs.times =
      static_cast<std::int64_t>(parse_count("--times", take(words, "--times").value_or("1"), 1, 1'000'000));
  w.as_json = take_flag(words, "--json");
  if (const auto seed = take(words, "--seed")) {
    w.seed = parse_count("--seed", *seed, 0, std::uint64_t{1} << 62);
    words.insert(words.end(), {"--seed", *seed});
  }
  for (const auto& [app, option, value] : small_runs) {
    const bool told = std::any_of(words.begin(), words.end(), [&](const auto& word) {
      return word == option || word.starts_with(std::string(option) + "=");
    });
    if (words[0] == app && !told) words.insert(words.end(), {std::string(option), std::string(value)});
  }
  // Budget, length of trains and hops are the job's on that machine.
  auto copies = words;
  auto argv = pointers(copies);
  int argc = static_cast<int>(copies.size());
  w.job = pgas::options_from(argc, argv.data());
  for (const auto* const own : {"--transport", "--workers", "--hops", "--train", "--budget"})
    static_cast<void>(take(words, own));
  w.rest = words;
  return w;
}

/// The application with so many PEs, in this process. \throws error if its answer is wrong
pgas::recording recorded(const wish& w, int pes, const std::vector<pgas::recording::block>& kept) {
  pgas::recording into(kept);
  auto words = w.rest;
  words.insert(words.end(), {"--pes", std::to_string(pes), "--transport", "threads", "--workers", "1"});
  auto argv = pointers(words);
  const pgas::record_next_job next(into);
  int status = 0;
  {
    const hushed quiet;
    status = w.app->main(static_cast<int>(words.size()), argv.data());
  }
  if (status != 0)
    throw error(error_number(1107), "simulate: " + words[0] + " with " + std::to_string(pes) +
                                        " PEs ended with status " + std::to_string(status));
  if (into.pes() == 0) {
    throw usage_error(error_number(1108), "simulate: " + words[0] + " starts no job of PEs");
  }
  return into;
}

row row_of(const wish& w, int pes) {
  auto job = w.job;
  job.pes = pes;
  const placement where(w.on, job, placement::most_buffers, w.follow);
  const auto seen = recorded(w, pes, where.kept());
  row r;
  r.pes = pes;
  r.job = where.job();
  r.nodes = r.job.all_nodes;
  r.workers = r.job.all_workers;
  r.followed = r.job.nodes;
  r.messages = where.messages_of(seen) * static_cast<std::uint64_t>(w.at_costs.times);
  r.result = simulate_events(w.on, r.job, where.work_of(seen, w.at_costs), w.seed);
  return r;
}

/// Over the supersteps.
time_split sum_of(const row& r) {
  time_split sum;
  for (const auto& s : r.result.supersteps) sum += s.sum;
  return sum;
}

/// What binds the superstep that takes longest.
const superstep_result& longest(const row& r) {
  return *std::max_element(r.result.supersteps.begin(), r.result.supersteps.end(),
                           [](const auto& a, const auto& b) { return a.time < b.time; });
}

double seconds(picoseconds t) { return static_cast<double>(t) / static_cast<double>(second); }

double ns_a_message(const row& r) {
  return seconds(r.result.time) * 1e9 * r.pes / static_cast<double>(std::max<std::uint64_t>(1, r.messages));
}

/// Figure 3 and table 1 of the selector study, arXiv:2107.05516: 64 nodes of 32 PEs, 2^23 operations a PE.
struct published {
  std::string_view app;
  double conveyors_seconds;
};
constexpr published published_at_2048[] = {{"histogram", 0.5}, {"index_gather", 2.3}};
constexpr double published_operations = 8'388'608;
constexpr double selectors_to_conveyors = 1.09;  // the geometric mean over all applications

void print_published(const wish& w) {
  for (const auto& p : published_at_2048) {
    if (p.app != w.app->name) continue;
    const double ns = p.conveyors_seconds / published_operations * 1e9;
    fmt::print(
        "\npublished, measured on Cori at 2,048 PEs (arXiv:2107.05516, table 1): Conveyors {:.1f} s for 2^23 "
        "operations a\n"
        "PE, {:.0f} ns each; selectors {:.2f} times as long over all applications, {:.0f} ns\n",
        p.conveyors_seconds, ns, selectors_to_conveyors, ns * selectors_to_conveyors);
  }
}

void print_row(const row& r) {
  const time_split sum = sum_of(r);
  const double whole = static_cast<double>(std::max<picoseconds>(1, sum.sum()));
  const auto share = [&](picoseconds part) { return 100 * static_cast<double>(part) / whole; };
  const auto& last = longest(r);
  fmt::print("{:>6} {:>6} {:>5} {:>6} {:>12.6f} {:>8.2f} {:>8.1f} {:>8.1f} {:>8.1f} {:>8.1f}  {}\n", r.pes, r.nodes,
             r.job.hops, r.job.train_bytes, seconds(r.result.time), ns_a_message(r), share(sum.compute),
             share(sum.packing), share(sum.network), share(sum.waiting), name_of(last.binds));
}

nlohmann::ordered_json json_of(const time_split& t) {
  return {{"compute_ps", t.compute}, {"packing_ps", t.packing}, {"network_ps", t.network}, {"waiting_ps", t.waiting}};
}

nlohmann::ordered_json json_of(const row& r) {
  nlohmann::ordered_json one{{"pes", r.pes},
                             {"nodes", r.nodes},
                             {"workers", r.workers},
                             {"followed_nodes", r.followed},
                             {"followed_workers", r.job.workers.size()},
                             {"hops", r.job.hops},
                             {"train_bytes", r.job.train_bytes},
                             {"messages", r.messages},
                             {"time_ps", r.result.time},
                             {"events", r.result.events}};
  for (const auto& s : r.result.supersteps) {
    one["supersteps"].push_back({{"ended_by", s.ended_by},
                                 {"time_ps", s.time},
                                 {"all_workers", json_of(s.sum)},
                                 {"slowest_worker", json_of(s.slowest)},
                                 {"busiest_injection_ps", s.injecting},
                                 {"busiest_line_ps", s.sending},
                                 {"trains", s.trains},
                                 {"bytes", s.bytes},
                                 {"binds", name_of(s.binds)}});
  }
  return one;
}

}  // namespace

int simulate(std::vector<std::string> arguments) {
  const wish w = wish_of(std::move(arguments));
  if (pgas::under_launcher())
    throw usage_error(error_number(1103), "simulate: is one process; start it without a launcher");
  std::vector<int> sizes;
  for (int pes = w.first; pes < w.last; pes *= 2) sizes.push_back(pes);
  sizes.push_back(w.last);
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  if (!w.as_json) {
    fmt::print("{} on \"{}\": a model's result, no measurement\n\n", w.app->name, apps::one_line(w.on.name));
    fmt::print("{:>6} {:>6} {:>5} {:>6} {:>12} {:>8} {:>8} {:>8} {:>8} {:>8}  {}\n", "PEs", "nodes", "hops", "train",
               "seconds", "ns/msg", "compute%", "packing%", "network%", "waiting%", "bound by");
  }
  for (const int pes : sizes) {
    const row r = row_of(w, pes);
    if (w.as_json) {
      rows.push_back(json_of(r));
    } else {
      print_row(r);
      std::fflush(stdout);
    }
  }
  if (w.as_json) {
    const nlohmann::ordered_json all{
        {"simulated", true}, {"application", w.app->name}, {"machine", w.on.name},
        {"seed", w.seed},    {"times", w.at_costs.times},  {"costs_measured", w.at_costs.measured},
        {"rows", rows}};
    fmt::print("{}\n", all.dump());
  } else {
    print_published(w);
  }
  return 0;
}

}  // namespace shunt::cli
