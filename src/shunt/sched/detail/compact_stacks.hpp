/// The stacks of compact fibers (spawn_options::compact): a few for all of a worker's, which take turns on them.
///
/// Each such fiber has one of the stacks for life, so its frames always lie at the same addresses. When it is to run
/// and another fiber's frames lie there, these are put aside, densely, and its own are copied back:
///
///   frames of fiber f     f->frames()->bytes the stack's occupant   what may use the addresses
///   on the stack          0                  f                      f, while it runs
///   put aside             > 0                another fiber, none    not f's: they belong to the occupant
///
/// A fiber that parks leaves its frames where they are: two that use different stacks wake each other without a copy.
///
/// Owner only: the worker's thread. When it goes no fiber is left, and the pool has all stacks. bring_in() is called on
/// the loop's own stack, or on that of a fiber that has another.
///
/// With a sanitizer, or with Boost.Context's switch, nothing is copied, as the sanitizer knows what lies on each stack:
/// every compact fiber then has a stack of its own, and what parked frames hold is compared before they are used again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <shunt/base/cache_line.hpp>
#include <shunt/context/stack_pool.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

struct fiber;

struct shared_stack {
  context::stack_pool::stack memory;
  std::size_t asked = 0;      // bytes; memory.bytes is rounded up
  std::size_t used = 0;       // of its bytes: frames begin at memory.low + used
  fiber* occupant = nullptr;  // whose frames lie there
};

/// A compact fiber's frames while another fiber uses their place. Debuggers know the layout of the first two members.
struct alignas(cache_line) frames_aside {
  std::uint64_t bytes = 0;  // at `copy`: the lowest of them is context::red_zone below the fiber's stack pointer
  char* copy = nullptr;     // `own`, or of the heap where they are more
  std::uint64_t capacity = 0;
  shared_stack* stack = nullptr;
  std::uint64_t sum = 0;  // of frames that stay on the stack, where nothing is copied
  char own[792];
};

class compact_stacks {
 public:
  /// Stacks of one size, for any number of fibers.
  static constexpr std::size_t stacks_of_a_size = 16;

  /// Gives a fiber that starts its stack and the place for its frames. The stack is free for context::prepare().
  /// \throws what stack_pool::take() throws; std::bad_alloc.
  void begin(fiber& f, std::size_t bytes, context::stack_pool& from);
  /// The fiber has ended.
  void end(fiber& f, context::stack_pool& to) noexcept;

  /// Before a switch to it, or while no fiber runs on its stack: its frames are there from here on. Without memory for
  /// the frames of the one before it the process ends, with a message.
  /// Cost: some ns if they are there; else two copies of some hundred bytes.
  static void bring_in(fiber& f) noexcept;
  /// Whether both are compact, and have started on the same stack.
  [[nodiscard]] static bool share_a_stack(const fiber& one, const fiber& other) noexcept;
  /// Whether its frames are on its stack.
  [[nodiscard]] static bool has_place(const fiber& f) noexcept;
  /// After a switch from it. Where nothing is copied, notes what its frames hold.
  static void has_stopped(fiber& f) noexcept;

 private:
  struct size_class {
    std::size_t bytes = 0;
    std::size_t next = 0;  // of `stacks`: the next fiber's
    std::size_t users = 0;
    std::vector<std::unique_ptr<shared_stack>> stacks;
  };

  size_class& class_of(std::size_t bytes);
  shared_stack& stack_of(size_class& c, context::stack_pool& from);
  static void put_aside(fiber& f) noexcept;

  std::vector<size_class> classes_;  // few: one for each size in use
};

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
