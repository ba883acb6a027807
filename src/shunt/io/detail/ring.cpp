#include <shunt/io/detail/ring.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <vector>

#include <fcntl.h>
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <shunt/base/error.hpp>
#include <shunt/io/detail/system_call.hpp>

namespace shunt {
inline namespace v1 {
namespace io {
namespace detail {
namespace {

using counter = std::atomic_ref<unsigned>;

long enter(int fd, unsigned count, unsigned flags) noexcept {
  return syscall(__NR_io_uring_enter, fd, count, 0U, flags, nullptr, std::size_t{0});
}

void* map_queue(int fd, std::size_t size, std::uint64_t which) {
  void* const at =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, static_cast<off_t>(which));
  if (at == MAP_FAILED) throw ring::refused{"io_uring: mmap", system_error()};
  return at;
}

std::uint64_t number(const void* of) noexcept { return reinterpret_cast<std::uintptr_t>(of); }

io_uring_sqe entry_of(const file_call& what, std::size_t max_bytes) noexcept {
  io_uring_sqe entry{};
  entry.fd = what.fd;
  entry.addr = number(what.at);
  entry.len = static_cast<std::uint32_t>(std::min(what.size, max_bytes));
  entry.off = what.offset;
  switch (what.what) {
    case file_call::kind::read: entry.opcode = IORING_OP_READ; break;
    case file_call::kind::write: entry.opcode = IORING_OP_WRITE; break;
    case file_call::kind::sync:
      entry = {};
      entry.opcode = IORING_OP_FSYNC;
      entry.fd = what.fd;
      break;
    case file_call::kind::open:
      entry.opcode = IORING_OP_OPENAT;
      entry.fd = AT_FDCWD;
      entry.len = new_file_mode;
      entry.off = 0;
      entry.open_flags = static_cast<std::uint32_t>(what.flags);
      break;
  }
  return entry;
}

/// Whether the kernel may take the same entry later.
bool is_temporary(std::error_code ec) noexcept {
  return ec == std::errc::resource_unavailable_try_again || ec == std::errc::device_or_resource_busy ||
         ec == std::errc::interrupted;
}

}  // namespace

ring::handle::~handle() {
  if (fd >= 0) ::close(fd);
}

ring::mapping::~mapping() {
  if (at != nullptr) munmap(at, size);
}

ring::ring() {
  io_uring_params as{};
  self_.fd = static_cast<int>(syscall(__NR_io_uring_setup, entries, &as));
  if (self_.fd < 0) throw refused{"io_uring_setup", system_error()};
  // The last of these came with Linux 5.9: from then on the kernel says that the result queue has overflowed.
  constexpr unsigned needed = IORING_FEAT_SINGLE_MMAP | IORING_FEAT_NODROP | IORING_FEAT_POLL_32BITS;
  if ((as.features & needed) != needed) {
    throw refused{"io_uring before Linux 5.9", {EOPNOTSUPP, std::system_category()}};
  }
  map(as);
  check_operations();
  probe();
}

/// Maps the queues and the entries, and finds their counters: the kernel gives offsets into the mapping.
void ring::map(const io_uring_params& as) {
  queues_.size = std::max(as.sq_off.array + as.sq_entries * sizeof(unsigned),
                          as.cq_off.cqes + as.cq_entries * sizeof(io_uring_cqe));
  queues_.at = map_queue(self_.fd, queues_.size, IORING_OFF_SQ_RING);
  entries_.size = as.sq_entries * sizeof(io_uring_sqe);
  entries_.at = map_queue(self_.fd, entries_.size, IORING_OFF_SQES);
  const auto word = [this](std::uint32_t offset) {
    return reinterpret_cast<unsigned*>(static_cast<std::byte*>(queues_.at) + offset);
  };
  sq_head_ = word(as.sq_off.head);
  sq_tail_ = word(as.sq_off.tail);
  sq_flags_ = word(as.sq_off.flags);
  sq_mask_ = *word(as.sq_off.ring_mask);
  cq_head_ = word(as.cq_off.head);
  cq_tail_ = word(as.cq_off.tail);
  cq_mask_ = *word(as.cq_off.ring_mask);
  cqes_ = reinterpret_cast<const io_uring_cqe*>(word(as.cq_off.cqes));
  unsigned* const indices = word(as.sq_off.array);
  for (unsigned i = 0; i < as.sq_entries; ++i) indices[i] = i;  // place i of the queue is always entry i
}

/// \throws refused if the kernel lacks an operation that this class uses.
void ring::check_operations() const {
  constexpr unsigned most = 256;
  std::vector<std::byte> memory(sizeof(io_uring_probe) + most * sizeof(io_uring_probe_op));
  auto* const all = reinterpret_cast<io_uring_probe*>(memory.data());
  if (syscall(__NR_io_uring_register, self_.fd, IORING_REGISTER_PROBE, all, most) < 0) {
    throw refused{"io_uring_register", system_error()};
  }
  const auto* const ops = reinterpret_cast<const io_uring_probe_op*>(all + 1);
  for (const int one :
       {IORING_OP_NOP, IORING_OP_READ, IORING_OP_WRITE, IORING_OP_FSYNC, IORING_OP_OPENAT, IORING_OP_ASYNC_CANCEL}) {
    if (one >= all->ops_len || (ops[one].flags & IO_URING_OP_SUPPORTED) == 0) {
      throw refused{"io_uring without calls on files", {EOPNOTSUPP, std::system_category()}};
    }
  }
}

/// Makes one call that does nothing: a filter of system calls may allow io_uring_setup and forbid io_uring_enter.
void ring::probe() {
  io_uring_sqe nothing{};
  nothing.opcode = IORING_OP_NOP;
  if (const auto ec = submit(nothing)) throw refused{"io_uring_enter", ec};
  reap();
}

/// Submits one entry. \return why the kernel did not take it; then the kernel knows nothing of it.
error ring::submit(const io_uring_sqe& entry) {
  const unsigned tail = *sq_tail_;
  static_cast<io_uring_sqe*>(entries_.at)[tail & sq_mask_] = entry;
  counter(*sq_tail_).store(tail + 1, std::memory_order_release);  // edge `submitted` out
  const long taken = enter(self_.fd, 1, 0);
  const auto ec = taken < 0 ? error::of_errno() : error::of_system(EAGAIN);
  if (counter(*sq_head_).load(std::memory_order_acquire) == tail + 1) return {};  // edge `consumed` in
  counter(*sq_tail_).store(tail, std::memory_order_release);  // edge `submitted` out, of nothing (ring.U2)
  return ec;
}

bool ring::reap() noexcept {
  bool any = false;
  for (;;) {
    unsigned head = *cq_head_;
    const unsigned tail = counter(*cq_tail_).load(std::memory_order_acquire);  // edge `completed` in
    for (; head != tail; ++head) {
      any = true;
      const io_uring_cqe& one = cqes_[head & cq_mask_];
      auto* const of = reinterpret_cast<operation*>(static_cast<std::uintptr_t>(one.user_data));
      if (of == nullptr) continue;  // of cancel(), or of probe()
      of->result = one.res;
      of->done = true;
      if (of->waits) of->fiber.wake();
    }
    counter(*cq_head_).store(head, std::memory_order_release);  // edge `reaped` out
    // relaxed: it decides only whether to make the system call, which does the rest
    if ((counter(*sq_flags_).load(std::memory_order_relaxed) & IORING_SQ_CQ_OVERFLOW) == 0) return any;
    if (enter(self_.fd, 0, IORING_ENTER_GETEVENTS) < 0) return any;  // the next reap() tries again
  }
}

/// Parks until the result is there. If the deadline or a stop ends that wait, or an exception leaves it, asks the
/// kernel to cancel, and parks on until the kernel has finished (ring.U1).
/// \return why it asked the kernel to cancel.
error ring::wait(operation& of, const deadline& until) {
  struct at_end {
    ~at_end() { self.cancel(of); }
    ring& self;
    operation& of;
  } const finishes{*this, of};
  of.waits = true;
  const auto done = [&of] { return of.done; };
  return error::of_wait(sched::this_fiber::wait_until(done, until.time(), until.stop(), "a file"));
}

/// Returns when the kernel has finished with the operation (ring.U1).
void ring::cancel(operation& of) noexcept {
  io_uring_sqe request{};
  request.opcode = IORING_OP_ASYNC_CANCEL;
  request.addr = number(&of);
  // If the kernel does not take the request, the operation ends by itself.
  if (!of.done) static_cast<void>(submit(request));
  while (!of.done) sched::this_fiber::park("a file");
}

/// A fiber whose calls never wait lets others run after every 32.
void ring::yield_now_and_then() {
  if (++calls_ < calls_per_yield) return;
  calls_ = 0;
  sched::this_fiber::yield();
}

/// Submits the call and reaps at once, as the kernel answers at once where the page cache has the bytes or room for
/// them; waits only if it did not. Starts again where the kernel had no memory for the entry, or a signal interrupted.
outcome ring::perform(const file_call& what, const deadline& until) {
  sched::this_fiber::lend_frame("a file's call");
  const sched::this_fiber::stay here;  // the ring is this worker's
  for (;;) {
    if (until.stop().stop_requested()) return {0, errc::cancelled};
    operation mine{sched::this_fiber::self()};
    io_uring_sqe entry = entry_of(what, max_bytes_per_call);
    entry.user_data = number(&mine);
    if (const auto ec = submit(entry)) {
      if (!is_temporary(ec)) return {0, ec};
      if (until.passed()) return {0, errc::timed_out};
      reap();  // results that were not taken may hold the memory that the kernel lacks
      sched::this_fiber::yield();
      continue;
    }
    reap();
    error why;
    if (mine.done) {
      yield_now_and_then();
    } else {
      why = wait(mine, until);
    }
    if (mine.result >= 0) return {static_cast<std::size_t>(mine.result), {}};
    if (mine.result != -ECANCELED && mine.result != -EINTR) return {0, error::of_system(-mine.result)};
    if (why) return {0, why};
  }
}

}  // namespace detail
}  // namespace io
}  // namespace v1
}  // namespace shunt
