#include <shunt/pgas/launch.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <vector>

#include <shunt/base/environment.hpp>
#include <shunt/base/parse.hpp>
#include <shunt/base/spelling.hpp>
#include <shunt/pgas/checkpoint.hpp>
#include <shunt/pgas/detail/exit_watch.hpp>
#include <shunt/pgas/detail/job.hpp>
#include <shunt/pgas/detail/start_agreement.hpp>
#include <shunt/pgas/detail/stop_signal.hpp>
#include <shunt/transport/processes.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace {

constexpr std::uint64_t least_train_option = 256;
constexpr std::uint64_t most_train_option = std::uint64_t{1} << 26;
/// Ranks do not reach MPI_Init at the same time: programs are read from disks, and read their input.
constexpr int deadlines_a_start = 6;
constexpr int status_of_error = 1;
constexpr int status_of_usage_error = 2;

/// A directory as the user named it, without a slash at its end.
std::string directory(std::string_view option, std::string_view text) {
  if (text.empty()) throw usage_error(error_number(929), std::string(option) + " needs a value");
  while (text.size() > 1 && text.back() == '/') text.remove_suffix(1);
  return std::string(text);
}

struct setting {
  std::string_view option;
  std::string_view variable;
  void (*set)(options&, std::string_view source, std::string_view text);
};

constexpr setting settings[] = {
    {"--pes", "SHUNT_PES",
     [](options& o, std::string_view s, std::string_view t) {
       o.pes = static_cast<int>(parse_count(s, t, 1, wire::most_pes));
     }},
    {"--transport", "SHUNT_TRANSPORT",
     [](options& o, std::string_view, std::string_view t) { o.transport = std::string(t); }},
    {"--workers", "SHUNT_WORKERS",
     [](options& o, std::string_view s, std::string_view t) {
       o.workers = static_cast<int>(parse_count(s, t, 1, 4096));
     }},
    {"--budget", "SHUNT_BUDGET",
     [](options& o, std::string_view s, std::string_view t) {
       o.budget = parse_bytes(s, t, 4096, std::uint64_t{1} << 40);
     }},
    {"--train", "SHUNT_TRAIN",
     [](options& o, std::string_view s, std::string_view t) {
       o.train_bytes = parse_bytes(s, t, least_train_option, most_train_option);
     }},
    {"--hops", "SHUNT_HOPS",
     [](options& o, std::string_view s, std::string_view t) { o.hops = static_cast<int>(parse_count(s, t, 0, 2)); }},
    {"--deadline", "SHUNT_DEADLINE",
     [](options& o, std::string_view s, std::string_view t) {
       o.deadline = std::chrono::seconds(parse_count(s, t, 1, 86'400));
     }},
    {"--start-deadline", "SHUNT_START_DEADLINE",
     [](options& o, std::string_view s, std::string_view t) {
       o.start_deadline = std::chrono::seconds(parse_count(s, t, 1, 86'400));
     }},
    {"--shared-memory", "SHUNT_SHARED_MEMORY",
     [](options& o, std::string_view s, std::string_view t) { o.shared_memory = parse_count(s, t, 0, 1) == 1; }},
    {"--spin", "SHUNT_SPIN",
     [](options& o, std::string_view s, std::string_view t) {
       o.spin = std::chrono::microseconds(parse_count(s, t, 0, 1'000'000));
     }},
    {"--pin", "SHUNT_PIN",
     [](options& o, std::string_view s, std::string_view t) { o.pin = parse_count(s, t, 0, 1) == 1; }},
    {"--checkpoint", "SHUNT_CHECKPOINT",
     [](options& o, std::string_view s, std::string_view t) { o.checkpoint = directory(s, t); }},
    {"--every", "SHUNT_EVERY", [](options& o, std::string_view s, std::string_view t) { o.every = parse_time(s, t); }},
    {"--checkpoint-signal", "SHUNT_CHECKPOINT_SIGNAL",
     [](options& o, std::string_view s, std::string_view t) {
       o.checkpoint_signal = detail::signal_of(t);
       if (o.checkpoint_signal == 0) {
         throw usage_error(error_number(952), std::string(s) + ": '" + std::string(t) + "' is not one of " +
                                                  "TERM, INT, HUP, USR1, USR2, XCPU");
       }
     }},
    {"--restart", "SHUNT_RESTART",
     [](options& o, std::string_view s, std::string_view t) { o.restart = directory(s, t); }},
};

}  // namespace

options options_from_environment() {
  environment::check();
  options o;
  for (const auto& s : settings) {
    if (const auto text = environment::read(s.variable)) s.set(o, s.variable, *text);
  }
  return o;
}

options options_from(int& argc, char** argv) {
  options o = options_from_environment();
  std::vector<char*> kept(argv, argv + std::min(argc, 1));
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const auto equals = word.find('=');
    const setting* hit = nullptr;
    for (const auto& s : settings) {
      if (word.substr(0, equals) == s.option) hit = &s;
    }
    if (hit == nullptr) {
      kept.push_back(argv[i]);
    } else if (equals != word.npos) {
      hit->set(o, hit->option, word.substr(equals + 1));
    } else if (i + 1 < argc) {
      hit->set(o, hit->option, argv[++i]);
    } else {
      throw usage_error(error_number(929), std::string(hit->option) + " needs a value");
    }
  }
  std::copy(kept.begin(), kept.end(), argv);
  argc = static_cast<int>(kept.size());
  argv[argc] = nullptr;
  if (argc > 0) {
    const std::string_view program = argv[0];
    o.name = program.substr(program.rfind('/') + 1);
  }
  return o;
}

void check(const options& o) {
  if (o.pes < 0 || o.pes > wire::most_pes) {
    throw usage_error(error_number(930),
                      "--pes " + std::to_string(o.pes) + ": must be 1.." + std::to_string(wire::most_pes));
  }
  if (o.workers < 0 || o.workers > 4096) {
    throw usage_error(error_number(930), "--workers " + std::to_string(o.workers) + ": must be 1..4096");
  }
  if (o.train_bytes != 0 && (o.train_bytes < least_train_option || o.train_bytes > most_train_option)) {
    throw usage_error(error_number(930), "--train " + std::to_string(o.train_bytes) + ": must be " +
                                             std::to_string(least_train_option) + ".." +
                                             std::to_string(most_train_option));
  }
  if (o.hops < 0 || o.hops > 2)
    throw usage_error(error_number(930), "--hops " + std::to_string(o.hops) + ": must be 0, 1 or 2");
  const auto no_time = [](std::string_view option, auto time, const char* legal) {
    throw usage_error(error_number(930), std::string(option) + ": " + std::to_string(time.count()) + legal);
  };
  if (o.deadline.count() <= 0) no_time("--deadline", o.deadline, " ms: must be more than 0");
  if (o.start_deadline.count() < 0) no_time("--start-deadline", o.start_deadline, " ms: must not be negative");
  if (o.spin.count() < 0) no_time("--spin", o.spin, " ns: must not be negative");
  if (o.every && o.every->count() < 0) no_time("--every", *o.every, " ms: must not be negative");
  if (o.checkpoint.empty() && (o.every || o.restart == "auto")) {
    throw usage_error(error_number(930), std::string(o.every ? "--every" : "--restart auto") +
                                             ": needs --checkpoint DIR, where checkpoints are written");
  }
}

bool under_launcher() {
  return std::getenv("SHUNT_JOB") != nullptr || std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr ||
         std::getenv("PMI_SIZE") != nullptr || std::getenv("PMI_RANK") != nullptr ||
         std::getenv("PMIX_RANK") != nullptr;
}

bool detail::one_of_several() {
  for (const char* const size : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    if (const char* const text = std::getenv(size)) return std::string_view(text) != "1";
  }
  return under_launcher();
}

namespace {

using start_phase = detail::start_progress::phase;

std::unique_ptr<transport::carrier> open_transport_of(const options& wanted, bool explored) {
  auto& progress = detail::start_progress::of_process();
  progress.come_to(start_phase::opening);
  try {
    auto carrier = transport::open(
        explored ? "threads" : wanted.transport, environment::read("SHUNT_PLUGINS").value_or(""),
        {.deadline = wanted.deadline,
         .gather = wanted.start_deadline.count() != 0 ? wanted.start_deadline : deadlines_a_start * wanted.deadline,
         .name = wanted.name});
    progress.come_to(carrier->ranks() > 1 ? start_phase::open : start_phase::alone);
    return carrier;
  } catch (const usage_error&) {  // no network has been asked
    progress.come_to(start_phase::before);
    throw;
  }
}

/// Collective. What one rank finds wrong with the job's start, all learn.
void prepare_job(std::optional<detail::job>& whole, const options& wanted, transport::carrier& carrier) {
  auto& progress = detail::start_progress::of_process();
  const auto agree = [&](const std::exception& failed, int status) {
    if (carrier.ranks() == 1) return;
    try {
      progress.agree(detail::tell_failure(carrier, failed.what(), status));
    } catch (const std::exception&) {  // the network fails too: what was first is what the user is told
    }
  };
  try {
    whole.emplace(wanted, carrier);
  } catch (const detail::failed_elsewhere& known) {
    progress.agree(known.agreed);
    if (known.agreed.status == status_of_usage_error) throw usage_error(known.agreed.what);
    throw error(known.agreed.what);
  } catch (const usage_error& bad) {
    agree(bad, status_of_usage_error);
    throw;
  } catch (const std::exception& bad) {
    agree(bad, status_of_error);
    throw;
  }
}

/// What run() throws after the end of a job that has stopped after this checkpoint. It is told while the transport
/// holds the other ranks: as soon as one has ended with this status, Open MPI's launcher ends those that have not.
checkpoint_stop stop_after(const std::string& folder, const options& wanted, const transport::carrier& carrier) {
  checkpoint_stop stop(error_number(962), (wanted.name.empty() ? "" : wanted.name + ": ") +
                                              "stopped by a signal, after a checkpoint: " + folder +
                                              "; --restart takes it up");
  stop.told = carrier.ranks() > 1;
  if (stop.told && carrier.rank() == 0) {
    std::fflush(stdout);
    std::fprintf(stderr, "%s\n", stop.what());
    transport::let_launcher_read();
  }
  return stop;
}

/// \return what is to be thrown once the transport has ended; nothing: the job has run to its end.
std::optional<checkpoint_stop> run_job(const options& wanted, bool explored, const std::function<void(pe&)>& program) {
  auto& progress = detail::start_progress::of_process();
  const auto before = progress.now();
  const auto carrier = open_transport_of(wanted, explored);
  std::optional<detail::job> prepared;
  prepare_job(prepared, wanted, *carrier);
  detail::job& whole = *prepared;
  whole.run(program);
  // A job of threads says nothing of this process's next job, which may be one with other processes.
  if (carrier->name() == "threads") progress.come_to(before);
  if (!whole.keeper().used() && (!wanted.checkpoint.empty() || !wanted.restart.empty()) && carrier->rank() == 0) {
    std::fprintf(stderr, "%s%s--%s: the program has made no pgas::checkpoint, so nothing was written or taken up\n",
                 wanted.name.c_str(), wanted.name.empty() ? "" : ": ",
                 wanted.checkpoint.empty() ? "restart" : "checkpoint");
  }
  if (whole.keeper().stop_unheard()) {
    std::fprintf(stderr,
                 "%s%srank %d: a signal has asked the job to stop after its last save_if_due(): it has run to "
                 "its end, and the next job with checkpoints in this process stops\n",
                 wanted.name.c_str(), wanted.name.empty() ? "" : ": ", carrier->rank());
  }
  const std::string folder = whole.keeper().stopped_after();
  if (folder.empty()) return std::nullopt;
  return stop_after(folder, wanted, *carrier);
}

}  // namespace

void run(const options& wanted, const std::function<void(pe&)>& program) {
  check(wanted);
  const detail::exit_watch no_exit(wanted.transport != "threads" && detail::one_of_several(), wanted.name);
  const bool explored = sched::this_worker::controlled();
  if (!explored && sched::this_worker::index() >= 0) {
    throw usage_error(error_number(931),
                      "pgas::run: called on a worker of a runtime; call it on a thread outside, or in test::explore");
  }
  if (sched::this_worker::attached<detail::pe_worker>() != nullptr) {
    throw usage_error(error_number(932), "pgas::run: called while another job runs in this explored run");
  }
  if (explored && wanted.transport != "auto" && wanted.transport != "threads") {
    throw usage_error(error_number(933),
                      "--transport " + wanted.transport + ": an explored run has one process; use threads");
  }
  if (const auto stopped = run_job(wanted, explored, program)) throw checkpoint_stop(*stopped);
}

namespace {

/// Whether this process is none that speaks for the job.
bool is_another_rank() {
  const char* const rank = transport::rank_by_launcher();
  return rank != nullptr && std::string_view(rank) != "0";
}

/// What the program leaves unread would be left out in silence: a word that is nearly one of a job's options is told,
/// once a job. It may be the program's own, so it is no error.
void tell_misspelt(int argc, char** argv) {
  if (is_another_rank()) return;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word(argv[i]);
    if (word == "--") return;
    const auto name = word.substr(0, word.find('='));
    if (!name.starts_with("--")) continue;
    for (const auto& s : settings) {
      if (edit_distance(name, s.option) != 1) continue;
      std::fprintf(stderr, "%s: %s is left to the program; the job's own option is %s\n", argv[0],
                   std::string(name).c_str(), std::string(s.option).c_str());
    }
  }
}

}  // namespace

int launch(int& argc, char** argv, const std::function<void(pe&)>& program) {
  const std::vector<const char*> words(argv, argv + argc);  // options_from() takes out --transport
  const auto report = [&words](const std::exception& bad, int status) {
    return report_failure("", bad.what(), status, static_cast<int>(words.size()), words.data());
  };
  try {
    const auto wanted = options_from(argc, argv);
    tell_misspelt(argc, argv);
    run(wanted, program);
    return 0;
  } catch (const checkpoint_stop& stop) {
    if (!stop.told) std::fprintf(stderr, "%s\n", stop.what());
    return status_of_stop;
  } catch (const usage_error& bad) {
    return report(bad, status_of_usage_error);
  } catch (const std::exception& bad) {
    return report(bad, status_of_error);
  }
}

}  // namespace pgas
}  // namespace v1
}  // namespace shunt
