/// OpenSHMEM's memory over messages: what shmem.h declares is made of it, and so are loops that shunt-translate wrote.
///
/// ```cpp
/// for (long i = 0; i < n; ++i) openshmem::send(&counts[spot[i]], pe[i], [](long& count) { ++count; });
/// for (long i = 0; i < n; ++i) openshmem::ask(&table[spot[i]], pe[i], &target[i]);
/// openshmem::answered();  // every target[i] is there; barrier() and quiet() also wait for the counts
/// ```
///
/// A PE is a process, as OpenSHMEM has it: its static and global variables are its own. Its program is a fiber with a
/// stack of 8 MiB. Symmetric memory is a heap of the process, and the data of the program's file; a message names an
/// element by its place in one of the two.
///
///   place   bit 63: 0 the heap, 1 the program's data; below it the bytes from where that begins
///
/// Invariants
///   world.W1  Only the worker's thread touches a world, and its memory's counts.
///   world.W2  A place means the same on each PE: all of them run one file, and call shmem_malloc() alike.
///   world.W3  sent_to(p) counts the messages to PE p since the last barrier(), handled(q) those of PE q that have been
///             done here since then. When the two are equal at all PEs, quiet() returns. Questions are none of them:
///             they go through an actor of their own, which counts its answers.
///   world.W4  Messages themselves change no count: batches do, at both ends. Over two hops a batch has messages for
///             several PEs: then near_ is empty, and send() counts.
///
/// What a PE does to its own memory, and what others ask for, happens in one order: handlers run while the program
/// waits or sends, never beside it. So nothing here is atomic to the processor, and every operation is atomic.
///
/// Source: OpenSHMEM 1.4 and 1.5, openshmem.org.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <source_location>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <shunt/pgas/actor_of.hpp>
#include <shunt/pgas/symmetric.hpp>

// What the linker calls the program's data: weak, since a program without any has none.
#ifndef DOXYGEN
extern "C" {
extern char __data_start[] __attribute__((weak));
extern char _end[] __attribute__((weak));
}
#endif

namespace shunt {
inline namespace v1 {
namespace pgas {

namespace openshmem {
class memory;
}
namespace detail {
class symmetric_heap;
#ifndef DOXYGEN  // which takes a full specialization for a symbol without a declaration
template <>
inline constexpr bool counting_part<openshmem::memory> = true;
#endif
}  // namespace detail

/// OpenSHMEM over messages.
namespace openshmem {

/// The symmetric memory of one PE.
class memory {
 public:
  static constexpr std::size_t least_heap = 4096;  ///< bytes of a heap

  /// \param heap  of this PE \param data  of the program's file \param pes  of the job
  memory(std::span<std::byte> heap, std::span<std::byte> data, int pes)
      : begin_{heap.data(), data.data()}, bytes_{heap.size(), data.size()}, handled_(static_cast<std::size_t>(pes)) {}

  /// Where an element lies, on every PE. \throws usage_error for memory that is not symmetric
  [[nodiscard]] std::uint64_t place_of(const void* at, std::size_t bytes) const {
    const auto* const byte = static_cast<const std::byte*>(at);
    const auto offset = static_cast<std::size_t>(byte - begin_[0]);
    if (offset < bytes_[0] && bytes <= bytes_[0] - offset) [[likely]]
      return offset;
    const auto in_data = static_cast<std::size_t>(byte - begin_[1]);
    if (in_data >= bytes_[1] || bytes > bytes_[1] - in_data) refuse_private(at);
    return in_data | data_bit;
  }
  /// The element at a place of the heap, among the first 4 GiB.
  template <class T>
  [[nodiscard]] T& at(std::uint32_t place) const noexcept {
    return *reinterpret_cast<T*>(begin_[0] + place);
  }
  /// The element at any place.
  template <class T>
  [[nodiscard]] T& at(std::uint64_t place) const noexcept {
    return *reinterpret_cast<T*>(begin_[place >> 63] + (place & ~data_bit));
  }

  /// Messages of a PE have been done here: detail::counting_part.
  void note_handled(int from, std::size_t count) noexcept { handled_[static_cast<std::size_t>(from)] += count; }
  /// How many of a PE's messages have been done here since the last barrier.
  [[nodiscard]] std::uint64_t handled(int from) const noexcept { return handled_[static_cast<std::size_t>(from)]; }
  /// Every message has been done, on all PEs.
  void note_barrier() noexcept { std::fill(handled_.begin(), handled_.end(), 0); }
  /// \throws usage_error: no PE but this one has such memory
  [[noreturn]] static void refuse_private(const void* at);

 private:
  static constexpr std::uint64_t data_bit = std::uint64_t{1} << 63;

  std::byte* begin_[2];
  std::size_t bytes_[2];
  std::vector<std::uint64_t> handled_;
};

/// What a PE's program knows of OpenSHMEM: launch() makes it.
class world {
 public:
  /// Collective. \param data  of the program's file
  world(pe& me, std::span<std::byte> data);
  /// Collective.
  ~world() noexcept(false);
  world(const world&) = delete;
  world& operator=(const world&) = delete;

  /// This PE's. \throws usage_error outside of launch()
  [[nodiscard]] static world& here() {
    if (the_one_ == nullptr) [[unlikely]]
      refuse_outside();
    return *the_one_;
  }
  /// This PE.
  [[nodiscard]] pe& me() const noexcept { return *me_; }
  /// \throws usage_error for a PE that is not there
  void require_pe(int pe) const {
    if (static_cast<unsigned>(pe) >= pes_) [[unlikely]]
      refuse_pe(pe);
  }

  /// One-sided. change(element) happens on a PE, some time before quiet() or barrier() returns.
  /// \param change  a lambda that takes a T& and captures plain values
  template <class T, class F>
  [[gnu::always_inline]] static void send(T* at, int to, const F& change,
                                          const std::source_location where = std::source_location::current()) {
    if (const auto offset = near_.offset_of(at); near_.has(offset)) [[likely]] {
      the_one_->messages_.send(to, change_of<T, std::uint32_t, F>{static_cast<std::uint32_t>(offset), change}, where);
    } else {
      here().send_far(at, to, change, where);
    }
  }
  /// One-sided. `*into` becomes what change(element) returns on a PE, some time before answered(), quiet() or barrier()
  /// returns. \param change  a lambda that takes a T& and captures plain values
  template <class T, class F, class R>
  [[gnu::always_inline]] static void ask(T* at, int of, const F& change, R* into,
                                         const std::source_location where = std::source_location::current()) {
    const auto then = [into](memory&, const R& value) { *into = value; };
    if (const auto offset = near_.offset_of(at); near_.has(offset)) [[likely]] {
      the_one_->questions_.ask(of, question_of<T, std::uint32_t, F, R>{static_cast<std::uint32_t>(offset), change},
                               then, where);
    } else {
      const auto place = here().memory_->place_of(at, sizeof(T));
      the_one_->questions_.ask(of, question_of<T, std::uint64_t, F, R>{place, change}, then, where);
    }
  }
  /// One-sided. The same, now: a round trip.
  template <class T, class F>
  [[nodiscard]] auto fetch(T* at, int of, const F& change) {
    const auto place = memory_->place_of(at, sizeof(T));
    require_pe(of);
    return questions_.fetch(of, [place, change](const memory& there) { return change(there.at<T>(place)); });
  }

  /// One-sided. `bytes` bytes go to a PE. \param from  may be changed when it returns
  void put(void* to, const void* from, std::size_t bytes, int pe);
  /// One-sided. `bytes` bytes come from a PE, some time before answered(), quiet() or barrier() returns.
  void get(void* to, const void* from, std::size_t bytes, int pe);

  /// Local, but waits: every answer that this PE has asked for has come.
  void answered();
  /// Local, but waits: every answer has come, and every message of this PE has been done.
  void quiet();
  /// Collective: every answer has come, and every message of all PEs has been done.
  void barrier();
  /// Waits until ready() is true, which messages of other PEs make so. \param call  static text, for reports
  void wait_until(const char* call, const std::function<bool()>& ready);
  /// Local. Handles what has come.
  void progress();
  /// One-sided. Another PE's process ends, with status 0.
  void send_end(int pe);

  /// Collective. A block of symmetric memory; null where no room is left, and for an alignment that the heap has not.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment);
  /// Collective. The block is free. \throws usage_error for what is no block
  void free(void* block);
  /// Collective. A block of another size begins with what the old one has. \throws usage_error for what is no block
  [[nodiscard]] void* reallocate(void* block, std::size_t bytes);
  /// Whether an address is one of symmetric memory.
  [[nodiscard]] bool is_symmetric(const void* at) const noexcept;

 private:
  /// A message, as small as it can be: most elements lie in the first 4 GiB of the heap. \tparam Place  of the element
  template <class T, class Place, class F>
  struct change_of {
    Place place;
    [[no_unique_address]] F change;
    void operator()(memory& there) const { change(there.at<T>(place)); }
  };
  /// The same with an answer.
  template <class T, class Place, class F, class R>
  struct question_of {
    Place place;
    [[no_unique_address]] F change;
    R operator()(const memory& there) const { return change(there.at<T>(place)); }
  };

  /// Where most elements lie: the heap's first 4 GiB, but for its end. Empty where there is no world.
  struct near_heap {
    static constexpr std::size_t largest_element = 64;  ///< bytes

    const std::byte* begin = nullptr;
    std::size_t bytes = 0;

    [[nodiscard]] static near_heap of(const detail::symmetric_heap& heap) noexcept;
    template <class T>
    [[nodiscard]] std::size_t offset_of(const T* at) const noexcept {
      static_assert(sizeof(T) <= largest_element);
      return static_cast<std::size_t>(reinterpret_cast<const std::byte*>(at) - begin);
    }
    [[nodiscard]] bool has(std::size_t offset) const noexcept { return offset < bytes; }
  };

  /// A message that names its element by eight bytes.
  template <class T, class F>
  void send_far(T* at, int to, const F& change, const std::source_location where) {
    messages_.send(to, change_of<T, std::uint64_t, F>{memory_->place_of(at, sizeof(T)), change}, where);
    note_sent(to);
  }
  /// The message has gone, so the PE is there.
  void note_sent(int to) noexcept {
    if (two_hops_) ++sent_[static_cast<std::size_t>(to)];
  }
  /// Messages for a PE since the last barrier(), of closed batches.
  [[nodiscard]] std::uint64_t sent_to(int pe) noexcept;
  [[noreturn]] void refuse_pe(int pe) const;
  [[noreturn]] static void refuse_outside();
  template <std::size_t Bytes>
  void get_exactly(void* to, std::uint64_t place, int pe);
  template <std::size_t Most>
  void get_at_most(void* to, std::uint64_t place, std::size_t bytes, int pe);

  pe* me_;
  unsigned pes_;
  std::unique_ptr<detail::symmetric_heap> heap_;
  symmetric<memory> memory_;
  actor_of<memory> messages_, questions_;
  bool two_hops_;                         // messages go over another PE
  std::vector<std::uint64_t> sent_;       // by PE, over two hops
  std::vector<std::uint64_t> confirmed_;  // by PE: of its messages since the last barrier() so many are done

  friend class running_program;
  static constinit world* the_one_;  // of this process
  static constinit near_heap near_;  // of the_one_
};

/// One-sided. world::send() of this PE.
template <class T, class F>
[[gnu::always_inline]] inline void send(T* at, int pe, const F& change,
                                        const std::source_location where = std::source_location::current()) {
  world::send(at, pe, change, where);
}
/// One-sided. `*into` becomes an element of a PE, some time before answered(), quiet() or a barrier returns.
template <class T>
[[gnu::always_inline]] inline void ask(T* at, int pe, std::remove_const_t<T>* into,
                                       const std::source_location where = std::source_location::current()) {
  world::ask(at, pe, [](const T& element) { return element; }, into, where);
}
/// Local, but waits: every answer that this PE has asked for has come.
inline void answered() { world::here().answered(); }

/// An element that values() reads.
template <class T>
struct element {
  T* at;   ///< in symmetric memory
  int pe;  ///< the PE that has it
};
/// Waits for all answers. \return the elements' values, in order
template <class T>
[[nodiscard]] std::vector<std::remove_const_t<T>> values(const std::vector<element<T>>& of) {
  std::vector<std::remove_const_t<T>> all(of.size());
  for (std::size_t k = 0; k != of.size(); ++k) ask(of[k].at, of[k].pe, &all[k]);
  answered();
  return all;
}

/// An element that fetch_add() changes, and by how much.
template <class T>
struct addition {
  T* at;    ///< in symmetric memory
  int pe;   ///< the PE that has it
  T value;  ///< integers are added modulo their range
};
/// Waits for all answers. Additions of one call to one element have no order. \return what each element was before
template <class T>
[[nodiscard]] std::vector<T> fetch_add(const std::vector<addition<T>>& of) {
  std::vector<T> all(of.size());
  for (std::size_t k = 0; k != of.size(); ++k) {
    const auto change = [value = of[k].value](T& element) {
      using bits = std::make_unsigned_t<T>;
      return std::exchange(element, static_cast<T>(static_cast<bits>(element) + static_cast<bits>(value)));
    };
    world::ask(of[k].at, of[k].pe, change, &all[k]);
  }
  answered();
  return all;
}

/// Runs an OpenSHMEM program as a whole main(): a job whose PEs are processes, as many as `shunt start`, or a launcher
/// of MPI or OpenSHMEM, started. Options of the job come from SHUNT_… variables; the command line is the program's.
/// \return what the program returned, or EXIT_FAILURE where eight bits of that would be 0; 1 after an error, 2 after a
///         usage error, of which standard error has one line.
int run_program(char** argv, std::span<std::byte> data, const std::function<int()>& program);

/// The data of the program's file: where its static and global variables lie.
[[nodiscard]] inline std::span<std::byte> data_of_program() {
  auto* const begin = reinterpret_cast<std::byte*>(__data_start);
  auto* const end = reinterpret_cast<std::byte*>(_end);
  return begin == nullptr || end == nullptr ? std::span<std::byte>() : std::span(begin, end);
}
/// `int main(int argc, char** argv) { return openshmem::launch(argc, argv, program); }`: see run_program().
template <class... Arguments>
int launch(int argc, char** argv, int (*program)(Arguments...)) {
  return run_program(argv, data_of_program(), [&] {
    if constexpr (sizeof...(Arguments) == 0) {
      static_cast<void>(argc);
      return program();
    } else {
      return program(argc, argv);
    }
  });
}

}  // namespace openshmem
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
