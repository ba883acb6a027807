#include <shunt/pgas/detail/stop_signal.hpp>

#include <atomic>
#include <string_view>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {
namespace {

std::atomic<bool> stop_asked{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler stores it");

void note_stop(int) {
  stop_asked.store(true, std::memory_order_relaxed);  // relaxed: the flag is all that is told
}

}  // namespace

stop_signal::stop_signal(int number) noexcept : number_(number) {
  stop_asked.store(false, std::memory_order_relaxed);  // relaxed: no handler is there yet
  struct sigaction how{};
  how.sa_handler = &note_stop;
  how.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);
  sigfillset(&how.sa_mask);
  ::sigaction(number_, &how, &before_);
}

stop_signal::~stop_signal() { ::sigaction(number_, &before_, nullptr); }

bool stop_signal::came() const noexcept {
  return stop_asked.load(std::memory_order_relaxed);  // relaxed: as note_stop()
}

int signal_of(const char* name) noexcept {
  struct known {
    std::string_view name;
    int number;
  };
  constexpr known all[] = {{"TERM", SIGTERM}, {"INT", SIGINT},   {"HUP", SIGHUP},
                           {"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"XCPU", SIGXCPU}};
  std::string_view wanted(name);
  if (wanted.starts_with("SIG")) wanted.remove_prefix(3);
  for (const auto& each : all) {
    if (each.name == wanted) return each.number;
  }
  return 0;
}

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
