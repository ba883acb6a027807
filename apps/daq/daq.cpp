/// `shunt run daq`: acquires from very many channels, checks that nothing was lost, reports.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <shunt/base/environment.hpp>
#include <shunt/base/error.hpp>
#include <vector>

#include "app.hpp"
#include "bale/job.hpp"
#include "daq/acquisition.hpp"
#include "daq/check.hpp"
#include "daq/counting.hpp"
#include "option.hpp"
#include "report.hpp"

using namespace shunt;

namespace {

constexpr std::size_t listed = 20;  // faults and problems that people are shown; programs get all faults

std::string bytes_text(double bytes) { return apps::with_unit(bytes) + "B"; }

std::string resident_text(std::uint64_t bytes) {
  return bytes == 0 ? "not measured" : bytes_text(static_cast<double>(bytes));
}

template <typename Range, typename Text>
std::string list_text(const Range& all, const Text& text) {
  std::string lines;
  for (std::size_t i = 0; i < std::min(all.size(), listed); ++i) lines += "\n    " + text(all[i]);
  if (all.size() > listed) lines += fmt::format("\n    and {} more", all.size() - listed);
  return lines;
}

/// \param where  the threads or PEs that have counted
std::vector<apps::fact> facts_of(const daq::settings& s, const std::string& over, const apps::fact& where,
                                 const daq::outcome& found, const daq::verdict& said) {
  apps::json_value::array faults;
  for (const auto& one : found.incidents) {
    faults.push_back(apps::json_value::object{{"channel", one.channel},
                                              {"what", std::string(daq::name_of(one.how.what))},
                                              {"frame", one.how.frame},
                                              {"bytes", one.how.bytes}});
  }
  const auto& total = found.total;
  const double frame_rate = static_cast<double>(total.frames) / found.seconds;
  const double byte_rate = static_cast<double>(total.bytes()) / found.seconds;
  const bool right = said.problems.empty();
  return {
      {"application", "daq", "daq, a fiber a channel"},
      {"channels", s.channels, apps::with_commas(s.channels)},
      {"over", over, over},
      where,
      {"seconds", found.seconds, fmt::format("{:.3f}", found.seconds)},
      {"frames_sent", said.sent, apps::with_commas(said.sent)},
      {"frames", said.received, apps::with_commas(said.received) + " received"},
      {"frames_left_out", said.left_out, apps::with_commas(said.left_out) + " of failed channels"},
      {"samples", total.samples, apps::with_commas(total.samples)},
      {"bytes", total.bytes(), bytes_text(static_cast<double>(total.bytes()))},
      {"frames_per_second", frame_rate, apps::with_unit(frame_rate)},
      {"bytes_per_second", byte_rate, bytes_text(byte_rate)},
      {"faults", faults, std::to_string(faults.size()) + list_text(found.incidents, daq::text_of)},
      {"resident_early", found.resident_early, resident_text(found.resident_early) + ", at a tenth"},
      {"resident_middle", found.resident_middle, resident_text(found.resident_middle)},
      {"resident_end", found.resident_end, resident_text(found.resident_end)},
      {"checked", right,
       right ? "every frame, every channel's sums and the total"
             : "NO:" + list_text(said.problems, [](const auto& line) { return line; })},
  };
}

/// The command line.
class command_line {
 public:
  command_line() {
    add_channels();
    add_counting();
    options_.final_callback([this] { refuse_what_makes_no_sense(); });
  }

  /// \return false: there is nothing left to do. \throws usage_error
  bool parse(int argc, char** argv) {
    if (!apps::parse(options_, argc, argv)) return false;
    static const std::map<std::string, daq::link> links{
        {"unix", daq::link::unix_socket}, {"tcp", daq::link::tcp}, {"pipe", daq::link::pipe}};
    wanted.over = links.at(over);
    wanted.duration = std::chrono::duration<double>(seconds_);
    wanted.timeout = std::chrono::duration<double>(timeout_);
    wanted.seed = job.seed();
    wanted.workers = job.wanted().workers;
    return true;
  }
  [[nodiscard]] bool on_pes() const noexcept { return count_on_ == "pes"; }

 private:
  apps::command_line options_{
      "Acquires data from many channels, each read by a fiber, which a process of its own feeds.", "shunt run daq"};

 public:
  apps::job job{options_, "daq", true, apps::forms::none};
  daq::settings wanted;
  std::string over = "unix";

 private:
  void add_channels() {
    constexpr std::uint32_t most_channels = 1'000'000;
    apps::count_option(options_, "--channels", wanted.channels,
                       "each a descriptor here, and one in the process that feeds it", 1, most_channels)
        ->capture_default_str();
    apps::choice_option(options_, "--over", over, "what a channel is: unix (a socket), tcp (on loopback) or pipe",
                        {"unix", "tcp", "pipe"})
        ->capture_default_str();
    auto* const time = apps::real_option(options_, "--seconds", seconds_, "how long frames are sent", 0.001, 1e6)
                           ->capture_default_str();
    apps::count_option(options_, "--frames", wanted.frames, "frames of each channel, however long it takes", 1,
                       std::uint64_t{1} << 40)
        ->excludes(time);
    apps::real_option(options_, "--rate", wanted.rate,
                      "frames a second of each channel (default: as many as are taken)", 0.001, 1e6);
    apps::count_option(options_, "--samples", wanted.samples, "of a frame at most, of 2 bytes; half as many at least",
                       1, daq::most_samples)
        ->capture_default_str();
    apps::count_option(options_, "--stalled", wanted.stalled,
                       "channels that the generator lets fall silent within a frame", 0, most_channels);
    apps::count_option(options_, "--garbled", wanted.garbled, "channels to which it sends garbage", 0, most_channels);
    apps::count_option(options_, "--hung-up", wanted.hung_up, "channels that it closes within a frame", 0,
                       most_channels);
    apps::real_option(options_, "--timeout", timeout_, "seconds of silence after which a channel counts as stalled",
                      0.001, 1e6)
        ->capture_default_str();
  }

  void add_counting() {
    apps::choice_option(options_, "--count-on", count_on_,
                        "what counts the readings of a channel: a railway's stations, or a PE of a job, to which "
                        "channels are dealt out",
                        {"stations", "pes"})
        ->capture_default_str();
    queue_ = apps::count_option(options_, "--queue", wanted.queue,
                                "readings of a worker that wait before the next station", 1, std::uint64_t{1} << 24)
                 ->capture_default_str();
    options_.get_option("--workers")
        ->description(
            "worker threads of a process (default: the CPUs it may use; of the stations one fewer, for what feeds "
            "them)");
  }

  void refuse_what_makes_no_sense() {
    if (on_pes()) {
      apps::refuse_with("--count-on pes", {queue_});
    } else {
      const auto given = [this](const char* name) { return options_.get_option(name); };
      apps::refuse_without("--count-on pes", {given("--pes"), given("--transport"), given("--budget"), given("--train"),
                                              given("--hops"), given("--deadline"), given("--start-deadline")});
      if (const auto set = environment::read("SHUNT_TRANSPORT"); set && *set != "threads") {
        throw usage_error(error_number(1103),
                          "daq runs in one process; leave SHUNT_TRANSPORT=" + *set + " out, or add --count-on pes");
      }
    }
    if (std::uint64_t{wanted.stalled} + wanted.garbled + wanted.hung_up > wanted.channels) {
      throw usage_error(error_number(1103),
                        fmt::format("--stalled {}, --garbled {} and --hung-up {} are more than the {} channels",
                                    wanted.stalled, wanted.garbled, wanted.hung_up, wanted.channels));
    }
  }

  double seconds_ = daq::settings{}.duration.count();
  double timeout_ = daq::settings{}.timeout.count();
  std::string count_on_ = "stations";
  const apps::command_option* queue_ = nullptr;
};

/// What the terminal shows meanwhile. \param line  outlives it
daq::observer watcher_on(apps::live_line& line) {
  daq::observer watcher;
  if (!line.shown()) return watcher;
  watcher.now = [&line, before = daq::rates{}](const daq::rates& now) mutable {
    if (!line.due()) return;
    const double span = now.seconds - before.seconds;
    line.say(fmt::format("{:.1f} s  {} frames  {}/s  {}/s  {} faults", now.seconds,
                         apps::with_unit(static_cast<double>(now.frames)),
                         apps::with_unit(static_cast<double>(now.frames - before.frames) / span),
                         bytes_text(static_cast<double>(now.bytes - before.bytes) / span), now.faults));
    before = now;
  };
  watcher.failed = [&line](const daq::incident& one) { line.put_above(daq::text_of(one)); };
  return watcher;
}

/// \return the exit status.
int on_stations(const command_line& line) {
  daq::generator feed(line.wanted);
  apps::live_line live;
  const auto found = daq::acquire(line.wanted, feed.channels(), [&] { feed.go(); }, watcher_on(live));
  const auto said = daq::check(found, feed.finish());
  line.job.report(
      facts_of(line.wanted, line.over, {"workers", found.workers, std::to_string(found.workers)}, found, said));
  return said.problems.empty() ? 0 : 1;
}

/// \return the exit status of this process.
int on_pes(command_line& line) {
  const auto& wanted = line.job.wanted();
  daq::generator feed(line.wanted, daq::generator::unopened());
  const auto all = daq::count_on_pes(wanted, line.wanted, feed);
  if (all.pes == 0) return 0;  // PE 0 is in another process, which reports
  const auto said = daq::check(all.found, all.known);
  auto facts = facts_of(
      line.wanted, line.over,
      {"pes", all.pes, fmt::format("{} on {} {}", all.pes, all.ranks, all.ranks == 1 ? "process" : "processes")},
      all.found, said);
  std::erase_if(facts, [](const auto& one) { return one.key.starts_with("resident"); });  // of one process only
  for (auto& one : apps::traffic_facts(all.moved, all.found.seconds)) {
    if (one.key != "seconds" && one.key != "bytes") facts.push_back(one);  // the frames' are there
  }
  line.job.report(facts);
  return said.problems.empty() ? 0 : 1;
}

}  // namespace

int daq_main(int argc, char** argv) {
  command_line line;
  if (!line.parse(argc, argv)) return 0;
  daq::allow_channels(line.wanted.channels);
  return line.on_pes() ? on_pes(line) : on_stations(line);
}
