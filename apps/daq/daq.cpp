/// `shunt run daq`: acquires from very many channels, checks that nothing was lost, reports.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <shunt/base/environment.hpp>
#include <shunt/base/error.hpp>
#include <shunt/pgas/options.hpp>

#include "app.hpp"
#include "daq/acquisition.hpp"
#include "daq/check.hpp"
#include "option.hpp"
#include "report.hpp"

using namespace shunt;

namespace {

constexpr std::size_t listed = 20;  // faults and problems that people are shown; programs get all faults

const std::map<std::string, daq::link> links{
    {"unix", daq::link::unix_socket}, {"tcp", daq::link::tcp}, {"pipe", daq::link::pipe}};

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

std::vector<apps::fact> facts_of(const daq::settings& s, const std::string& over, const daq::outcome& found,
                                 const daq::verdict& said) {
  auto faults = nlohmann::ordered_json::array();
  for (const auto& one : found.incidents) {
    faults.push_back({{"channel", one.channel},
                      {"what", daq::name_of(one.how.what)},
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
      {"workers", found.workers, std::to_string(found.workers)},
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

}  // namespace

int daq_main(int argc, char** argv) {
  daq::settings s;
  double seconds = s.duration.count();
  double timeout = s.timeout.count();
  std::string over = "unix";
  s.workers = pgas::options_from_environment().workers;

  CLI::App options("Acquires data from many channels, each read by a fiber, which a process of its own feeds.",
                   "shunt run daq");
  constexpr std::uint32_t most_channels = 1'000'000;
  apps::count_option(options, "--channels", s.channels, "each a descriptor here, and one in the process that feeds it",
                     1, most_channels)
      ->capture_default_str();
  apps::choice_option(options, "--over", over, "what a channel is: unix (a socket), tcp (on loopback) or pipe",
                      {"unix", "tcp", "pipe"})
      ->capture_default_str();
  auto* const time =
      apps::real_option(options, "--seconds", seconds, "how long frames are sent", 0.001, 1e6)->capture_default_str();
  apps::count_option(options, "--frames", s.frames, "frames of each channel, however long it takes", 1,
                     std::uint64_t{1} << 40)
      ->excludes(time);
  apps::real_option(options, "--rate", s.rate, "frames a second of each channel (default: as many as are taken)", 0.001,
                    1e6);
  apps::count_option(options, "--samples", s.samples, "of a frame at most, of 2 bytes; half as many at least", 1,
                     daq::most_samples)
      ->capture_default_str();
  apps::count_option(options, "--stalled", s.stalled, "channels that the generator lets fall silent within a frame", 0,
                     most_channels);
  apps::count_option(options, "--garbled", s.garbled, "channels to which it sends garbage", 0, most_channels);
  apps::count_option(options, "--hung-up", s.hung_up, "channels that it closes within a frame", 0, most_channels);
  apps::real_option(options, "--timeout", timeout, "seconds of silence after which a channel counts as stalled", 0.001,
                    1e6)
      ->capture_default_str();
  apps::count_option(options, "--queue", s.queue, "readings of a worker that wait before the next stage", 1,
                     std::uint64_t{1} << 24)
      ->capture_default_str();
  apps::count_option(options, "--workers", s.workers,
                     "worker threads (default: the CPUs it may use but one, which feeds it)", 1, 4096);
  apps::count_option(options, "--seed", s.seed, "of the random numbers", 0);
  apps::reporter report;
  report.add_options(options);
  options.final_callback([&s] {
    if (const auto wanted = environment::read("SHUNT_TRANSPORT"); wanted && *wanted != "threads") {
      throw usage_error("daq runs in one process; leave SHUNT_TRANSPORT=" + *wanted + " out");
    }
    if (std::uint64_t{s.stalled} + s.garbled + s.hung_up > s.channels) {
      throw usage_error(fmt::format("--stalled {}, --garbled {} and --hung-up {} are more than the {} channels",
                                    s.stalled, s.garbled, s.hung_up, s.channels));
    }
  });
  if (!apps::parse(options, argc, argv)) return 0;
  s.over = links.at(over);
  s.duration = std::chrono::duration<double>(seconds);
  s.timeout = std::chrono::duration<double>(timeout);
  report.check();
  daq::allow_channels(s.channels);

  daq::generator feed(s);
  apps::live_line line;
  daq::observer watcher;
  if (line.shown()) {
    watcher.now = [&, before = daq::rates{}](const daq::rates& now) mutable {
      if (!line.due()) return;
      const double span = now.seconds - before.seconds;
      line.say(fmt::format("{:.1f} s  {} frames  {}/s  {}/s  {} faults", now.seconds,
                           apps::with_unit(static_cast<double>(now.frames)),
                           apps::with_unit(static_cast<double>(now.frames - before.frames) / span),
                           bytes_text(static_cast<double>(now.bytes - before.bytes) / span), now.faults));
      before = now;
    };
    watcher.failed = [&](const daq::incident& one) { line.put_above(daq::text_of(one)); };
  }
  const auto found = daq::acquire(s, feed.channels(), [&] { feed.go(); }, watcher);
  const auto said = daq::check(found, feed.finish());
  report.print(facts_of(s, over, found, said));
  return said.problems.empty() ? 0 : 1;
}
