/// One worker's io_uring: calls on files, which the kernel makes while the fiber waits and its worker
/// does not.
///
/// Used by that worker's thread only, by its loop and by its fibers, which stay on it.
///
/// Invariants
///   U1  An operation lies on its fiber's stack, and the memory it reads or writes is the caller's. So
///       perform() returns when the kernel is done with both, whatever the limit says.
///   U2  An entry stands in the submission queue during one system call only, the one that hands it
///       over; one that was not taken is taken back. So the queue is never full, and nothing is left in it.
///   U3  Each queue's tail is stored by one side only, its head by the other.
///
/// Edges, with the kernel (io_uring(7))
///   asked   submit -> kernel    the entry just filled
///   taken   kernel -> submit    the entry may be filled again
///   ended   kernel -> reap      the result
///   read    reap -> kernel      the result's place may be filled again
#pragma once

#include <cstddef>
#include <cstdint>
#include <system_error>

#include <shunt/io/detail/watch.hpp>
#include <shunt/io/limit.hpp>
#include <shunt/sched/fiber.hpp>

struct io_uring_sqe;
struct io_uring_cqe;
struct io_uring_params;

namespace shunt {
inline namespace v1 {
namespace io {
namespace detail {

/// What open(2) is told of who may use a file it makes, before umask.
constexpr unsigned new_file_mode = 0666;

/// A system call on a file, in a form that a ring takes and that a helper can make.
struct file_call {
  enum class kind : std::uint8_t { open, read, write, sync };
  kind what{};
  int fd = -1;               ///< not for open
  std::byte* at = nullptr;   ///< read, write: the bytes (not written to by write); open: the path
  std::size_t size = 0;      ///< read, write
  std::uint64_t offset = 0;  ///< read, write
  int flags = 0;             ///< open

  /// What is left when `count` bytes have moved.
  [[nodiscard]] file_call from(std::size_t count) const noexcept {
    file_call rest = *this;
    rest.at += count;
    rest.size -= count;
    rest.offset += count;
    return rest;
  }
};

class ring {
 public:
  /// Why there is none.
  struct refused {
    const char* call;
    std::error_code code;
  };

  /// Asks the kernel for one, and tries it. \throws refused
  ring();
  ring(const ring&) = delete;
  ring& operator=(const ring&) = delete;

  /// A fiber: at most 1 MiB of it; moved may be less, as with the system call. If the limit strikes,
  /// the kernel is asked to give it up; where it can no more, its result counts.
  /// \throws std::bad_alloc
  [[nodiscard]] outcome perform(const file_call& what, const limit& how_long);

  /// Takes what has ended, and wakes. \return whether anything had.
  bool reap() noexcept;

  /// Readable while there is something to reap.
  [[nodiscard]] int descriptor() const noexcept { return self_.fd; }

 private:
  struct operation {
    sched::waker who;
    int result = 0;
    bool done = false;
    bool waits = false;
  };
  struct handle {
    ~handle();
    int fd = -1;
  };
  struct mapping {
    ~mapping();
    void* at = nullptr;
    std::size_t size = 0;
  };

  void map(const io_uring_params& as);
  void check_operations() const;
  void try_it();
  trouble submit(const io_uring_sqe& asked);
  static trouble wait(operation& of, const limit& how_long);
  void give_up(operation& of) noexcept;
  void breathe();

  static constexpr unsigned entries = 64;  // and 128 results; more are kept by the kernel (NODROP)
  static constexpr std::size_t most_at_once = std::size_t{1} << 20;
  static constexpr int calls_a_breath = 32;

  handle self_;
  mapping queues_;
  mapping entries_;
  unsigned* asked_head_ = nullptr;  // U3: the kernel's
  unsigned* asked_tail_ = nullptr;  // ours
  unsigned* asked_flags_ = nullptr;
  unsigned asked_mask_ = 0;
  unsigned* ended_head_ = nullptr;  // ours
  unsigned* ended_tail_ = nullptr;  // the kernel's
  unsigned ended_mask_ = 0;
  const io_uring_cqe* ended_ = nullptr;
  int calls_ = 0;
};

}  // namespace detail
}  // namespace io
}  // namespace v1
}  // namespace shunt
