/// Supersteps: between two of them distributed objects (array.hpp, containers/) are read, inside they are changed.
///
/// ```cpp
/// pgas::array<long> histogram(me, 1'000'000);
/// pgas::map<std::uint64_t, long> counts(me);
/// pgas::superstep(me, [&] {
///   for (const auto key : keys) {
///     ++histogram[key % histogram.size()];
///     ++counts[key];
///   }
/// });  // all changes of all PEs have happened, everywhere
/// ```
///
/// What a superstep promises: when it returns, on every PE, all changes that any PE made in it have happened. So what a
/// PE reads of its own part between two supersteps has the whole of the first, and nothing of the next: as long as it
/// reads before its next call of the library. Another PE may be in the next superstep by then; what is read of others,
/// by gather() or one by one, takes a barrier() before that.
///
/// In a superstep a PE may read its own part, by local(), own() and the like, and no such read is refused:
///
///   of an object that the superstep changes on no PE   the part is as it was before
///   of an array, a per_pe or disjoint sets that it     each change that has come so far, of any PE, has happened as a
///   changes                                            whole; the span stays valid. More of them come whenever this
///                                                      PE's program, or another one on its worker, sends or waits
///   of a map or set that it changes                    the same; iterators and pointers end when the next change comes
///   of a bag or sparse matrix that it changes          as it was before: what comes is put in at the end
///
/// `shunt-translate check` finds reads of objects that the same superstep changes.
///
/// Source: Valiant, A bridging model for parallel computation, doi:10.1145/79173.79181.
#pragma once

#include <concepts>
#include <source_location>
#include <span>
#include <utility>

#include <shunt/pgas/detail/refusals.hpp>
#include <shunt/pgas/pe.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {

namespace detail {

struct ending_selector;

/// What a PE has of each distributed object; in the order of construction, which is the same on every PE.
class distributed {
 public:
  distributed(const distributed&) = delete;
  distributed& operator=(const distributed&) = delete;

  /// Collective. Ends a superstep for this object alone: returns when all changes have happened.
  void finish_changes();
  /// A superstep of this PE begins, or ends.
  void set_open(bool open) noexcept { changeable_ = open ? size_ : 0; }

 protected:
  /// \param size  of the object: how many elements it has, or any number but 0
  distributed(pe& me, std::uint64_t size);
  ~distributed();
  /// Whether a superstep of this PE is open.
  [[nodiscard]] bool open() const noexcept;
  /// What reads calls it first. \param call  static text: "gather()". \throws usage_error if a superstep is open.
  void check_read(const char* call, std::source_location where) const;
  [[nodiscard]] pe& me() const noexcept { return *me_; }
  [[nodiscard]] std::uint64_t elements() const noexcept { return size_; }
  /// Elements that may be changed now: all in a superstep, none outside. One comparison finds both mistakes.
  [[nodiscard]] std::uint64_t changeable() const noexcept { return changeable_; }
  /// What changes an element calls first. \throws usage_error outside of a superstep, and for one beyond the object.
  [[gnu::always_inline]] void check_change(std::uint64_t element, const std::source_location& where) const {
    if (element >= changeable_) [[unlikely]]
      refuse_change(me_->index(), open(), element, size_, where);
  }

 private:
  friend void finish_superstep(pe& me);
  /// Ends a superstep for some objects of a PE.
  static void finish(pe& me, std::span<distributed* const> some);

  /// The selector that carries the changes: a superstep ends it, together with those of all other objects.
  [[nodiscard]] virtual ending_selector changes() noexcept = 0;
  /// Collective, at the end of a superstep: what the object has kept back goes, or what handlers send on ends.
  virtual void send_rest() {}
  /// Local. All changes have happened; nothing of the next superstep arrives before this PE's next call of the library.
  virtual void ended() {}

  pe* me_;
  std::uint64_t size_;
  std::uint64_t changeable_;
};

/// \throws usage_error where one is open already, and in a task on another worker.
void open_superstep(pe& me, std::source_location where);
void finish_superstep(pe& me);
void close_superstep(pe& me) noexcept;

}  // namespace detail

/// Collective. Calls body(), in which distributed objects may be changed, and waits until all changes that any PE has
/// made have happened, everywhere.
/// \throws what `body` throws: then what it has changed so far belongs to the next superstep; usage_error inside of a
///         superstep, and in a task on another worker; what finish() throws; std::bad_alloc where an object of this PE
///         has no memory for what has arrived: the superstep ends all the same, for all other objects and PEs.
/// Cost: one finish() for all distributed objects that the PE has, with an end mark for each of them; of disjoint_sets
/// a quiesce() more.
template <std::invocable F>
void superstep(pe& me, F&& body, std::source_location where = std::source_location::current()) {
  detail::open_superstep(me, where);
  try {
    std::forward<F>(body)();
  } catch (...) {
    detail::close_superstep(me);
    throw;
  }
  detail::finish_superstep(me);
}

}  // namespace pgas
}  // namespace v1
}  // namespace shunt
