#include <shunt/pgas/detail/stop_signal.hpp>

#include <atomic>

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
  struct sigaction how{};
  how.sa_handler = &note_stop;
  how.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);
  sigfillset(&how.sa_mask);
  ::sigaction(number_, came() ? nullptr : &how, &before_);  // after the first signal the next one is the second
}

stop_signal::~stop_signal() { ::sigaction(number_, &before_, nullptr); }

bool stop_signal::came() const noexcept {
  return stop_asked.load(std::memory_order_relaxed);  // relaxed: as note_stop()
}

void stop_signal::obeyed() noexcept {
  stop_asked.store(false, std::memory_order_relaxed);  // relaxed: as note_stop()
}

int signal_of(std::string_view name) noexcept {
  struct known {
    std::string_view name;
    int number;
  };
  constexpr known all[] = {{"TERM", SIGTERM}, {"INT", SIGINT},   {"HUP", SIGHUP},
                           {"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"XCPU", SIGXCPU}};
  if (name.starts_with("SIG")) name.remove_prefix(3);
  for (const auto& each : all) {
    if (each.name == name) return each.number;
  }
  return 0;
}

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
