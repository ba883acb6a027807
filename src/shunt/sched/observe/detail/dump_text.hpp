/// The text of a report about fibers: a line for each, and where it stands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <shunt/base/symbols.hpp>
#include <shunt/sched/detail/fiber.hpp>
#include <shunt/sched/observe/detail/snapshot.hpp>
#include <shunt/sched/observe/report_notes.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

class worker;

/// Which fibers a text is about: those of one scope, and two more. Null, and an id of no fiber: none.
struct fiber_filter {
  const void* scope = nullptr;
  fiber_id one;
  fiber_id other;
  [[nodiscard]] bool takes(const fiber_record& r) const noexcept {
    return (scope != nullptr && r.scope == scope) || is(one, r) || is(other, r);
  }

 private:
  /// A later fiber in the same block is another one.
  [[nodiscard]] static bool is(const fiber_id& id, const fiber_record& r) noexcept {
    return r.fiber == fiber::behind(id) && r.generation == fiber::generation_of(id);
  }
};

/// One thread.
class dump_text {
 public:
  /// Asks the note sources of other modules. \param all  all slabs: they number the fibers. \param most  at most so
  /// many fibers that do not run are described; then running fibers come first. \param only  null: about all fibers.
  /// \throws std::bad_alloc, as add() and say().
  explicit dump_text(std::span<const fiber_slab> all, std::size_t most = ~std::size_t{0},
                     const fiber_filter* only = nullptr);

  void add(const worker& of, const fiber_record& r);
  void say(const std::string& line) { text_ += line + '\n'; }

  /// Fibers that were added, described or not.
  [[nodiscard]] std::size_t listed() const noexcept { return listed_; }
  [[nodiscard]] std::string take();

 private:
  void write(const worker& of, const fiber_record& r);
  void write_state(const fiber_record& r);
  void write_frames(const fiber_record& r);
  [[nodiscard]] std::string number(const fiber* f) const;

  std::map<const fiber*, std::size_t> numbers_;  // a slab's address -> the number of its first block
  std::map<std::vector<const void*>, const fiber*> stacks_written_;  // frames -> the fiber that they were written for
  wait_notes notes_;
  symbols names_;
  std::string text_;
  std::size_t listed_ = 0;
  const std::size_t most_;
  const fiber_filter* const only_;
  std::size_t not_running_ = 0;
};

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
