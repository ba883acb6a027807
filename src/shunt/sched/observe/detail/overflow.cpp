#include <shunt/sched/observe/detail/overflow.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <string_view>

#include <ucontext.h>
#include <unistd.h>

#include <shunt/sched/detail/worker_state.hpp>

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
    if (::write(STDERR_FILENO, text_, length_) < 0) return;  // there is no other way to tell
  }

 private:
  char text_[400];
  std::size_t length_ = 0;
};

/// The interrupted code's stack pointer; 0 on machines where we do not know how to ask.
std::uintptr_t stack_pointer(const void* context) noexcept {
#if defined(__linux__) && defined(__x86_64__)
  return static_cast<std::uintptr_t>(static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RSP]);
#elif defined(__linux__) && defined(__aarch64__)
  return static_cast<std::uintptr_t>(static_cast<const ucontext_t*>(context)->uc_mcontext.sp);
#else
  static_cast<void>(context);
  return 0;
#endif
}

/// Whether an access to `at` ran off that stack: it lies in the gap below, or further down in a frame that reaches
/// beyond the gap.
bool ran_off(std::uintptr_t at, const context::stack_pool::stack& stack, std::uintptr_t sp) noexcept {
  const auto low = reinterpret_cast<std::uintptr_t>(stack.low);
  constexpr std::uintptr_t below_sp = 4096;  // a red zone; a page that is probed before it is taken
  constexpr std::uintptr_t most = std::uintptr_t{1}
                                  << 30;  // further down sp belongs to another stack, for signals perhaps
  if (at >= low) return false;
  return low - at <= context::stack_pool::wide_gap(stack.bytes) ||
         (sp < low && low - sp <= most && at >= sp - below_sp);
}

/// Names the running fiber if the fault is an overflow of its stack; then lets the fault happen again, with the former
/// action.
void on_fault(int, siginfo_t* about, void* context) {
  if (const fiber* const f = here().running(); f != nullptr) {
    const auto at = reinterpret_cast<std::uintptr_t>(about->si_addr);
    if (ran_off(at, f->stack, stack_pointer(context))) {
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

struct reporters {
  std::mutex lock;
  int count = 0;
  bool installed = false;
};
reporters& all_reporters() {
  static reporters all;
  return all;
}

}  // namespace

/// Only the first of several runs installs the handler.
overflow_reporter::overflow_reporter() noexcept {
  auto& all = all_reporters();
  const std::scoped_lock held(all.lock);
  if (++all.count > 1) return;
  struct sigaction now{};
  if (sigaction(SIGSEGV, nullptr, &now) != 0 || (now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != SIG_DFL) return;
  default_action = now;
  struct sigaction ours{};
  ours.sa_sigaction = on_fault;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&ours.sa_mask);
  all.installed = sigaction(SIGSEGV, &ours, nullptr) == 0;
}

overflow_reporter::~overflow_reporter() {
  auto& all = all_reporters();
  const std::scoped_lock held(all.lock);
  if (--all.count > 0 || !all.installed) return;
  all.installed = false;
  struct sigaction now{};
  if (sigaction(SIGSEGV, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_fault) {
    sigaction(SIGSEGV, &default_action, nullptr);  // unless the program has put another one there
  }
}

signal_stack::signal_stack() noexcept {
  stack_t now{};
  if (sigaltstack(nullptr, &now) != 0 || (now.ss_flags & SS_DISABLE) == 0) return;
  const auto bytes =
      std::max<std::size_t>(16 * 1024, static_cast<std::size_t>(std::max(0L, sysconf(_SC_MINSIGSTKSZ))) + 8192);
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
