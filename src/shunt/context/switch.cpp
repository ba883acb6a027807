#include <shunt/context/switch.hpp>

#include <cstdint>
#include <cstdlib>
#include <new>

#include <shunt/base/error.hpp>
#include <shunt/base/sanitizers.hpp>

#if defined(SHUNT_ASAN)
#include <pthread.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(SHUNT_TSAN)
#include <sanitizer/tsan_interface.h>
#endif
#if defined(SHUNT_CONTEXT_BOOST)
#include <boost/context/detail/fcontext.hpp>
#endif

#define SHUNT_NO_TSAN __attribute__((noinline, no_sanitize("thread")))

#if !defined(SHUNT_CONTEXT_BOOST)

// Where an execution begins: the frame pointer points to its `opening`. The nop: an unwinder looks an address up at one
// byte less, and must land in these rules for a fiber that has not run yet. `rip` (x30) undefined ends every backtrace
// here.
#if defined(__x86_64__)
asm(R"(
.pushsection .text
.p2align 4
.type shunt_context_bottom_v1, @function
shunt_context_bottom_v1:
.cfi_startproc
  .cfi_undefined %rip
  nop
.globl shunt_context_begin_v1
.hidden shunt_context_begin_v1
shunt_context_begin_v1:
  endbr64
  movq %rbp, %rdi
  xorl %ebp, %ebp
  call shunt_context_main_v1
  ud2
.cfi_endproc
.size shunt_context_bottom_v1, . - shunt_context_bottom_v1
.popsection
)");
#elif defined(__aarch64__)
asm(R"(
.pushsection .text
.p2align 4
.type shunt_context_bottom_v1, %function
shunt_context_bottom_v1:
.cfi_startproc
  .cfi_undefined x30
  nop
.globl shunt_context_begin_v1
.hidden shunt_context_begin_v1
shunt_context_begin_v1:
  hint #36
  mov x0, x29
  mov x29, xzr
  bl shunt_context_main_v1
  brk #1
.cfi_endproc
.size shunt_context_bottom_v1, . - shunt_context_bottom_v1
.popsection
)");
#endif
#endif

namespace shunt {
inline namespace v1 {
namespace context {
namespace {

/// Lies on top of a stack, for its first frame.
struct opening {
  void (*entry)(void*);
  void* argument;
  void* end[2];  // null: where walks along frame pointers stop
};

SHUNT_NO_TSAN void begin(const opening& first) noexcept {
#if defined(SHUNT_ASAN)
  __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
  first.entry(first.argument);
  std::abort();  // entry's last act is finish_to()
}

opening* opening_of(const void* low, std::size_t bytes) noexcept {
  constexpr std::uintptr_t alignment = 16;
  const auto top = (reinterpret_cast<std::uintptr_t>(low) + bytes) & ~(alignment - 1);
  static_assert(sizeof(opening) % alignment == 0);
  return reinterpret_cast<opening*>(top) - 1;
}

#if defined(SHUNT_CONTEXT_BOOST)
namespace boost_context = boost::context::detail;

/// Each jump carries a pointer to the execution that it left. The stack pointer that arrives is that execution's.
void left(boost_context::transfer_t t) noexcept { static_cast<execution*>(t.data)->sp = t.fctx; }

execution* starting(execution* e = nullptr) noexcept {
  static thread_local execution* next = nullptr;
  if (e != nullptr) next = e;
  return next;
}

void begin_boost(boost_context::transfer_t t) {
  left(t);
  const execution& me = *starting();
  begin(*opening_of(me.bottom, me.bytes));
}

[[gnu::always_inline]] inline void change(execution& from, execution& to) noexcept {
  starting(&to);
  left(boost_context::jump_fcontext(to.sp, &from));
}
#else
[[gnu::always_inline]] inline void change(execution& from, execution& to) noexcept {
  detail::raw_switch(from, to, to.sp);
}
extern "C" void shunt_context_begin_v1() noexcept;
#endif

}  // namespace

void prepare(execution& e, void* low, std::size_t bytes, void (*entry)(void*), void* argument) noexcept {
  SHUNT_ASSERT(bytes >= 1024);
  e.bottom = low;
  e.bytes = bytes;
  e.sanitizers = nullptr;
#if defined(SHUNT_TSAN)
  e.sanitizers = __tsan_create_fiber(0);
#endif
  opening* const first = ::new (opening_of(low, bytes)) opening{entry, argument, {}};
#if defined(SHUNT_CONTEXT_BOOST)
  e.sp = boost_context::make_fcontext(first, bytes - sizeof *first, begin_boost);
#else
  e.sp = first;
  e.fp = first;
  e.pc = reinterpret_cast<void*>(&shunt_context_begin_v1);
#endif
}

void adopt_thread(execution& e) noexcept {
  e = execution{};
#if defined(SHUNT_ASAN)
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    void* low = nullptr;
    std::size_t bytes = 0;
    if (pthread_attr_getstack(&attributes, &low, &bytes) == 0) {
      e.bottom = low;
      e.bytes = bytes;
    }
    pthread_attr_destroy(&attributes);
  }
#endif
#if defined(SHUNT_TSAN)
  e.sanitizers = __tsan_get_current_fiber();
#endif
}

void retire([[maybe_unused]] execution& e) noexcept {
#if defined(SHUNT_TSAN)
  __tsan_destroy_fiber(e.sanitizers);
#endif
}

namespace detail {

// Not instrumented: between the announcement and the switch the thread counts as being on neither stack.
SHUNT_NO_TSAN void switch_elsewhere(execution& from, execution& to) noexcept {
#if defined(SHUNT_ASAN)
  __sanitizer_start_switch_fiber(&from.sanitizers, to.bottom, to.bytes);
#endif
#if defined(SHUNT_TSAN)
  __tsan_switch_to_fiber(to.sanitizers, 0);
#endif
  change(from, to);
#if defined(SHUNT_ASAN)
  __sanitizer_finish_switch_fiber(from.sanitizers, nullptr, nullptr);
#endif
}

}  // namespace detail

SHUNT_NO_TSAN void finish_to(execution& from, execution& to) noexcept {
#if defined(SHUNT_ASAN)
  __sanitizer_start_switch_fiber(nullptr, to.bottom, to.bytes);  // null: frees the fake stack
#endif
#if defined(SHUNT_TSAN)
  __tsan_switch_to_fiber(to.sanitizers, 0);
#endif
  change(from, to);
  std::abort();
}

}  // namespace context
}  // namespace v1
}  // namespace shunt

#if !defined(SHUNT_CONTEXT_BOOST)
/// Called by shunt_context_begin_v1 alone.
extern "C" [[gnu::used, gnu::visibility("hidden")]] void shunt_context_main_v1(const void* first) noexcept {
  shunt::context::begin(*static_cast<const shunt::context::opening*>(first));
}
#endif
