/// One worker's io_uring: the kernel makes calls on files while the fiber waits and its worker runs others.
///
/// Only the worker's thread uses it: its loop, and its fibers, which stay on the worker.
///
/// Invariants
///   ring.U1  An operation lies on its fiber's stack, and the memory that it reads or writes is the caller's. So
///            perform() returns when the kernel has finished with both, whatever the deadline is.
///   ring.U2  An entry is in the submission queue during one system call only, the one that submits it; an entry that
///            the kernel did not take is withdrawn. So the queue is never full, and nothing is left in it.
///   ring.U3  Of each queue one side stores the tail, the other side the head.
///
/// Edges, with the kernel (io_uring(7))
///   `submitted`  submit -> kernel   the entry just filled
///   `consumed`   kernel -> submit   the entry may be filled again
///   `completed`  kernel -> reap     the result
///   `reaped`     reap -> kernel     the place of the result may be filled again
#pragma once

#include <cstddef>
#include <cstdint>
#include <system_error>

#include <shunt/io/deadline.hpp>
#include <shunt/io/detail/outcome.hpp>
#include <shunt/sched/fiber.hpp>

struct io_uring_sqe;
struct io_uring_cqe;
struct io_uring_params;

namespace shunt {
inline namespace v1 {
namespace io {
namespace detail {

/// The mode that open(2) gets for a file that it makes, before umask.
constexpr unsigned new_file_mode = 0666;

/// A system call on a file, in a form that an io_uring takes and that a helper can make.
struct file_call {
  enum class kind : std::uint8_t { open, read, write, sync };
  kind what{};
  int fd = -1;               ///< not for open
  std::byte* at = nullptr;   ///< read, write: the bytes (write only reads them); open: the path
  std::size_t size = 0;      ///< read, write
  std::uint64_t offset = 0;  ///< read, write
  int flags = 0;             ///< open

  /// The part that is left when `count` bytes have moved.
  [[nodiscard]] file_call from(std::size_t count) const noexcept {
    file_call left = *this;
    left.at += count;
    left.size -= count;
    left.offset += count;
    return left;
  }
};

class ring {
 public:
  /// Why the kernel gives no io_uring.
  struct refused {
    const char* call;
    std::error_code code;
  };

  /// Asks the kernel for one, and probes it. \throws refused
  ring();
  ring(const ring&) = delete;
  ring& operator=(const ring&) = delete;

  /// A fiber: at most 1 MiB of the call; `moved` may be less, as with the system call. At the deadline, or after a stop
  /// request, this fiber asks the kernel to cancel; where the kernel can no longer cancel, its result counts.
  /// \throws std::bad_alloc
  [[nodiscard]] outcome perform(const file_call& what, const deadline& until);

  /// Takes the results that are there, and wakes their fibers. \return whether there were any.
  bool reap() noexcept;

  /// Readable while there is something to reap.
  [[nodiscard]] int descriptor() const noexcept { return self_.fd; }

 private:
  struct operation {
    sched::waker fiber;
    int result = 0;
    bool done = false;
    bool waits = false;  // the fiber parks: reap() must wake it
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
  void probe();
  error submit(const io_uring_sqe& entry);
  error wait(operation& of, const deadline& until);
  void cancel(operation& of) noexcept;
  void yield_now_and_then();

  static constexpr unsigned entries = 64;  // and 128 results; the kernel keeps what exceeds them (NODROP)
  static constexpr std::size_t max_bytes_per_call = std::size_t{1} << 20;
  static constexpr int calls_per_yield = 32;

  handle self_;
  mapping queues_;
  mapping entries_;
  unsigned* sq_head_ = nullptr;  // ring.U3: the kernel's
  unsigned* sq_tail_ = nullptr;  // ours
  unsigned* sq_flags_ = nullptr;
  unsigned sq_mask_ = 0;
  unsigned* cq_head_ = nullptr;  // ours
  unsigned* cq_tail_ = nullptr;  // the kernel's
  unsigned cq_mask_ = 0;
  const io_uring_cqe* cqes_ = nullptr;
  int calls_ = 0;
};

}  // namespace detail
}  // namespace io
}  // namespace v1
}  // namespace shunt
