#include <shunt/sched/detail/overflow.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <string_view>

#include <unistd.h>

#include <shunt/sched/detail/desk.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {
namespace {

struct sigaction default_action;  // what was there before; written before the handler is installed

/// Text in a signal handler: no allocation, no locale.
class line {
 public:
  line& operator<<(std::string_view text) noexcept {
    const auto fits = std::min(text.size(), sizeof text_ - length_);
    std::memcpy(text_ + length_, text.data(), fits);
    length_ += fits;
    return *this;
  }
  line& operator<<(std::size_t number) noexcept {
    char digits[24];
    char* first = digits + sizeof digits;
    do {
      *--first = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number != 0);
    return *this << std::string_view(first, static_cast<std::size_t>(digits + sizeof digits - first));
  }
  void write() const noexcept {
    if (::write(STDERR_FILENO, text_, length_) < 0) return;  // nobody left to tell
  }

 private:
  char text_[400];
  std::size_t length_ = 0;
};

void on_fault(int, siginfo_t* about, void*) {
  if (const fiber* const f = here().running(); f != nullptr) {
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto at = reinterpret_cast<std::uintptr_t>(about->si_addr);
    const auto low = reinterpret_cast<std::uintptr_t>(f->stack.low);
    if (at < low && at >= low - page) {
      line text;
      text << "shunt: ";
      if (f->called().empty()) {
        text << "a fiber";
      } else {
        text << "fiber `" << f->called() << "`";
      }
      text << " ran off its stack of " << f->stack.bytes / 1024
           << " KiB: give it more (spawn_options::stack_bytes, options::stack_bytes)\n";
      text.write();
    }
  }
  sigaction(SIGSEGV, &default_action, nullptr);
}

struct watchers {
  std::mutex lock;
  int count = 0;
  bool installed = false;
};
watchers& all_watchers() {
  static watchers w;
  return w;
}

}  // namespace

overflow_watch::overflow_watch() noexcept {
  auto& all = all_watchers();
  const std::scoped_lock held(all.lock);
  if (++all.count > 1) return;
  struct sigaction now {};
  if (sigaction(SIGSEGV, nullptr, &now) != 0 || (now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != SIG_DFL) return;
  default_action = now;
  struct sigaction ours {};
  ours.sa_sigaction = on_fault;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&ours.sa_mask);
  all.installed = sigaction(SIGSEGV, &ours, nullptr) == 0;
}

overflow_watch::~overflow_watch() {
  auto& all = all_watchers();
  const std::scoped_lock held(all.lock);
  if (--all.count > 0 || !all.installed) return;
  all.installed = false;
  struct sigaction now {};
  if (sigaction(SIGSEGV, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_fault) {
    sigaction(SIGSEGV, &default_action, nullptr);  // unless somebody has put another one there
  }
}

signal_stack::signal_stack() noexcept {
  stack_t now{};
  if (sigaltstack(nullptr, &now) != 0 || (now.ss_flags & SS_DISABLE) == 0) return;
  const auto bytes = std::max<std::size_t>(16 * 1024, static_cast<std::size_t>(std::max(0L, sysconf(_SC_MINSIGSTKSZ))) + 8192);
  memory_.reset(new (std::nothrow) char[bytes]);
  if (!memory_) return;
  stack_t ours{};
  ours.ss_sp = memory_.get();
  ours.ss_size = bytes;
  if (sigaltstack(&ours, nullptr) != 0) memory_.reset();
}

signal_stack::~signal_stack() {
  if (!memory_) return;
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, nullptr);
}

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
