#include <shunt/io/detail/ring.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <optional>
#include <stop_token>
#include <vector>

#include <fcntl.h>
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <shunt/base/error.hpp>

namespace shunt {
inline namespace v1 {
namespace io {
namespace detail {
namespace {

using counter = std::atomic_ref<unsigned>;

std::error_code system_error() noexcept { return {errno, std::system_category()}; }

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

io_uring_sqe entry_of(const file_call& what, std::size_t most) noexcept {
  io_uring_sqe asked{};
  asked.fd = what.fd;
  asked.addr = number(what.at);
  asked.len = static_cast<std::uint32_t>(std::min(what.size, most));
  asked.off = what.offset;
  switch (what.what) {
    case file_call::kind::read: asked.opcode = IORING_OP_READ; break;
    case file_call::kind::write: asked.opcode = IORING_OP_WRITE; break;
    case file_call::kind::sync:
      asked = {};
      asked.opcode = IORING_OP_FSYNC;
      asked.fd = what.fd;
      break;
    case file_call::kind::open:
      asked.opcode = IORING_OP_OPENAT;
      asked.fd = AT_FDCWD;
      asked.len = new_file_mode;
      asked.off = 0;
      asked.open_flags = static_cast<std::uint32_t>(what.flags);
      break;
  }
  return asked;
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
  // The last of these came with Linux 5.9: from then on a queue that overflows says so.
  constexpr unsigned needed = IORING_FEAT_SINGLE_MMAP | IORING_FEAT_NODROP | IORING_FEAT_POLL_32BITS;
  if ((as.features & needed) != needed) {
    throw refused{"io_uring before Linux 5.9", {EOPNOTSUPP, std::system_category()}};
  }
  map(as);
  check_operations();
  try_it();
}

void ring::map(const io_uring_params& as) {
  queues_.size = std::max(as.sq_off.array + as.sq_entries * sizeof(unsigned),
                          as.cq_off.cqes + as.cq_entries * sizeof(io_uring_cqe));
  queues_.at = map_queue(self_.fd, queues_.size, IORING_OFF_SQ_RING);
  entries_.size = as.sq_entries * sizeof(io_uring_sqe);
  entries_.at = map_queue(self_.fd, entries_.size, IORING_OFF_SQES);
  const auto word = [this](std::uint32_t offset) {
    return reinterpret_cast<unsigned*>(static_cast<std::byte*>(queues_.at) + offset);
  };
  asked_head_ = word(as.sq_off.head);
  asked_tail_ = word(as.sq_off.tail);
  asked_flags_ = word(as.sq_off.flags);
  asked_mask_ = *word(as.sq_off.ring_mask);
  ended_head_ = word(as.cq_off.head);
  ended_tail_ = word(as.cq_off.tail);
  ended_mask_ = *word(as.cq_off.ring_mask);
  ended_ = reinterpret_cast<const io_uring_cqe*>(word(as.cq_off.cqes));
  unsigned* const places = word(as.sq_off.array);
  for (unsigned i = 0; i < as.sq_entries; ++i) places[i] = i;  // a place is its entry's
}

/// \throws refused if the kernel lacks one that we use.
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

/// A filter of system calls may allow the first one and forbid this.
void ring::try_it() {
  io_uring_sqe nothing{};
  nothing.opcode = IORING_OP_NOP;
  if (const auto bad = submit(nothing)) throw refused{"io_uring_enter", bad};
  reap();
}

/// Hands one entry over. \return what the kernel has against that; then it knows nothing of it.
trouble ring::submit(const io_uring_sqe& asked) {
  const unsigned tail = *asked_tail_;
  static_cast<io_uring_sqe*>(entries_.at)[tail & asked_mask_] = asked;
  counter(*asked_tail_).store(tail + 1, std::memory_order_release);  // edge `asked`
  const long taken = enter(self_.fd, 1, 0);
  const auto bad = taken < 0 ? trouble::now() : trouble::of_system(EAGAIN);
  if (counter(*asked_head_).load(std::memory_order_acquire) == tail + 1) return {};  // edge `taken`
  counter(*asked_tail_).store(tail, std::memory_order_release);                      // U2
  return bad;
}

bool ring::reap() noexcept {
  bool any = false;
  for (;;) {
    unsigned head = *ended_head_;
    const unsigned tail = counter(*ended_tail_).load(std::memory_order_acquire);  // edge `ended`
    for (; head != tail; ++head) {
      any = true;
      const io_uring_cqe& one = ended_[head & ended_mask_];
      auto* const of = reinterpret_cast<operation*>(static_cast<std::uintptr_t>(one.user_data));
      if (of == nullptr) continue;  // the wish to give one up, or the first try
      of->result = one.res;
      of->done = true;
      if (of->waits) of->who.wake();
    }
    counter(*ended_head_).store(head, std::memory_order_release);  // edge `read`
    // relaxed: only whether to ask; the system call does the rest.
    if ((counter(*asked_flags_).load(std::memory_order_relaxed) & IORING_SQ_CQ_OVERFLOW) == 0) return any;
    if (enter(self_.fd, 0, IORING_ENTER_GETEVENTS) < 0) return any;  // again next time
  }
}

trouble ring::wait(operation& of, const limit& how_long) {
  const auto awaken = [who = of.who] { who.wake(); };
  std::optional<std::stop_callback<decltype(awaken)>> on_stop;
  if (how_long.stop().stop_possible()) on_stop.emplace(how_long.stop(), awaken);
  while (!of.done) {
    if (how_long.stop().stop_requested()) return errc::cancelled;
    if (!sched::this_fiber::park_until(how_long.deadline(), "a file") && !of.done) return errc::timed_out;
  }
  return {};
}

/// Returns when the kernel is done with it (U1).
void ring::give_up(operation& of) noexcept {
  io_uring_sqe wish{};
  wish.opcode = IORING_OP_ASYNC_CANCEL;
  wish.addr = number(&of);
  // A wish: if the kernel does not take it, the operation ends by itself.
  if (!of.done) static_cast<void>(submit(wish));
  while (!of.done) sched::this_fiber::park("a file");
}

/// A fiber whose calls never wait lets others run now and then.
void ring::breathe() {
  if (++calls_ < calls_a_breath) return;
  calls_ = 0;
  sched::this_fiber::yield();
}

outcome ring::perform(const file_call& what, const limit& how_long) {
  const sched::this_fiber::stay here;  // the ring is this worker's
  for (;;) {
    if (how_long.stop().stop_requested()) return {0, errc::cancelled};
    operation mine{sched::this_fiber::self()};
    io_uring_sqe asked = entry_of(what, most_at_once);
    asked.user_data = number(&mine);
    if (const auto bad = submit(asked)) {
      if (bad != std::errc::resource_unavailable_try_again && bad != std::errc::device_or_resource_busy &&
          bad != std::errc::interrupted) {
        return {0, bad};
      }
      if (how_long.over()) return {0, errc::timed_out};
      reap();  // results that lie about may be what it has no memory for
      sched::this_fiber::yield();
      continue;
    }
    reap();  // the page cache had it, or had room for it
    trouble why;
    if (mine.done) {
      breathe();
    } else {
      struct over {
        ~over() { self.give_up(of); }
        ring& self;
        operation& of;
      } const at_end{*this, mine};
      mine.waits = true;
      why = wait(mine, how_long);
    }
    if (mine.result >= 0) return {static_cast<std::size_t>(mine.result), {}};
    if (mine.result != -ECANCELED && mine.result != -EINTR) {
      return {0, trouble::of_system(-mine.result)};
    }
    if (why) return {0, why};
  }
}

}  // namespace detail
}  // namespace io
}  // namespace v1
}  // namespace shunt
