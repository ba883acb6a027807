#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>

#include <shunt/base/environment.hpp>
#include <shunt/pgas/detail/start_agreement.hpp>
#include <shunt/pgas/launch.hpp>
#include <shunt/transport.hpp>
#include <shunt/transport/processes.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace {

using std::chrono::milliseconds;

/// How long a rank waits for the others to learn of its failure, and how much longer the next one does, so that they do
/// not all give up at once.
constexpr milliseconds time_to_agree{10'000};
constexpr milliseconds time_to_agree_a_rank{1'000};
constexpr int turns_to_agree = 4;
/// More than that: what is lost meanwhile is lost for this rank only, which ends anyway.
transport::limits limits_to_agree(const std::string& name) {
  return {.deadline = milliseconds(30'000), .gather = milliseconds(30'000), .name = name};
}
/// How long the ranks that do not print wait for the one that does: a launcher may end it once one of them has ended.
constexpr milliseconds time_to_print{1'000};
/// The same where they do not know which ranks have failed. The end of rank 0 makes Open MPI end the others within some
/// 1.5 s.
constexpr milliseconds time_for_rank_0{2'500};

/// One write: lines of several ranks do not mix.
void print_line(const std::string& line) noexcept {
  static_cast<void>(!::write(STDERR_FILENO, line.data(), line.size()));
}

/// Prints a line and ends the process, unless it is taken back in time.
class last_word {
 public:
  last_word(std::string line, int status, milliseconds after) {
    try {
      thread_ = std::thread([this, status, after, text = std::move(line)] {
        std::unique_lock lock(guard_);
        if (changed_.wait_for(lock, after, [this] { return taken_back_; })) return;
        print_line(text);
        transport::let_launcher_read();
        std::_Exit(status);  // the transport is being opened by another thread
      });
    } catch (const std::system_error&) {  // no thread: the transport's own limits must do
    }
  }
  last_word(const last_word&) = delete;
  last_word& operator=(const last_word&) = delete;
  ~last_word() { take_back(); }

  void take_back() noexcept {
    {
      const std::lock_guard lock(guard_);
      taken_back_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::mutex guard_;  // of what follows
  std::condition_variable changed_;
  bool taken_back_ = false;
  std::thread thread_;
};

/// What the user asks for, be the rest right or wrong.
std::string transport_named(int argc, const char* const* argv) {
  constexpr std::string_view option = "--transport";
  std::string named = environment::read("SHUNT_TRANSPORT").value_or("auto");
  for (int i = 1; i < argc; ++i) {
    const std::string_view word(argv[i]);
    if (word == option && i + 1 < argc) named = argv[i + 1];
    if (word.starts_with(option) && word.substr(option.size()).starts_with("=")) named = word.substr(option.size() + 1);
  }
  return named;
}

/// What a rank has to say.
struct complaint {
  std::string before, rank, what;
  int status;
  [[nodiscard]] std::string line(bool with_rank) const { return before + (with_rank ? rank : "") + what; }
  void print(bool with_rank) const {
    print_line(line(with_rank) + "\n");
    if (under_launcher()) transport::let_launcher_read();
  }
};

/// Opens the transport that the job would have had, only to tell the other ranks.
/// The line is printed before the ranks part: the launcher may end a rank once another one has ended.
/// \return the status of all; nothing: it is not known what the others have found
std::optional<int> tell_other_ranks(const complaint& mine, int rank, const std::string& transport_wanted) {
  last_word late(mine.line(true) + "\n", mine.status,
                 time_to_agree + time_to_agree_a_rank * std::clamp(rank, 0, turns_to_agree));
  for (const std::string& name : {transport_wanted, std::string("auto")}) {
    try {
      // Where the transport ends the process, what is in front of its reason is this failure.
      const auto carrier =
          transport::open(name, environment::read("SHUNT_PLUGINS").value_or(""), limits_to_agree(mine.line(true)));
      const auto known = detail::tell_failure(*carrier, mine.what, mine.status);
      late.take_back();
      if (known.here) mine.print(!known.everywhere);
      return known.status;
    } catch (const usage_error&) {  // there is no such transport
    } catch (const std::exception&) {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace

int report_failure(const std::string& before, const std::string& what, int status, int argc, const char* const* argv) {
  using phase = detail::start_progress::phase;
  auto& progress = detail::start_progress::of_process();
  const char* const number = transport::rank_by_launcher();
  const complaint mine{before, number == nullptr ? "" : "rank " + std::string(number) + ": ", what, status};
  const auto wanted = transport_named(argc, argv);
  const auto now = progress.now();
  // Under a launcher too, each process may be a job of its own.
  if (!detail::one_of_several() || now == phase::alone || (now == phase::before && wanted == "threads")) {
    mine.print(false);
    return status;
  }
  if (now == phase::agreed) {
    const auto known = progress.agreed();
    if (known.here) {
      mine.print(!known.everywhere);
    } else {
      std::this_thread::sleep_for(time_to_print);
    }
    return known.status;
  }
  const int rank = number == nullptr ? -1 : std::atoi(number);
  if (now == phase::before) {
    if (const auto agreed = tell_other_ranks(mine, rank, wanted)) return *agreed;
  }
  if (now != phase::begun && rank != 0) std::this_thread::sleep_for(time_for_rank_0);
  mine.print(rank != 0);
  return status;
}

}  // namespace pgas
}  // namespace v1
}  // namespace shunt
