#include <shunt/io/detail/descriptor_state.hpp>

#include <cstddef>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <shunt/io/detail/describe_wait.hpp>
#include <shunt/io/detail/loop.hpp>

namespace shunt {
inline namespace v1 {
namespace io {
namespace detail {

// --- where states come from ---

/// All states, and the free ones among them; kept for ever (descriptor.W1).
struct descriptor_state::slabs {
  static constexpr std::size_t states_per_slab = 64;

  static slabs& all() {
    static slabs* const one = new slabs;  // never destroyed: the program may destroy descriptors after main()
    return *one;
  }

  /// \throws std::bad_alloc; io_error if the system has no descriptor left.
  void grow();

  std::mutex lock;
  std::vector<descriptor_state*> free;   // with capacity for every state there is, so that release() cannot fail
  std::vector<descriptor_state*> first;  // of each slab
  std::size_t states = 0;
  int dead = -1;  // a file on which every call fails (descriptor.W2): O_PATH gives no access
};

void descriptor_state::slabs::grow() {
  if (dead < 0) dead = ::open("/", O_PATH | O_CLOEXEC);
  if (dead < 0) throw io_error("descriptor: open", {errno, std::system_category()});
  if (free.capacity() < states + states_per_slab) free.reserve(2 * states + states_per_slab);
  first.reserve(first.size() + 1);
  if (first.empty()) sched::detail::add_note_source(note_waits);
  auto* const fresh = new descriptor_state[states_per_slab];
  states += states_per_slab;
  first.push_back(fresh);
  for (std::size_t i = 0; i < states_per_slab; ++i) free.push_back(&fresh[i]);
}

descriptor_state* descriptor_state::acquire(int fd) {
  auto& from = slabs::all();
  descriptor_state* made = nullptr;
  {
    const std::scoped_lock held(from.lock);
    try {
      if (from.free.empty()) from.grow();
    } catch (...) {
      ::close(fd);
      throw;
    }
    made = from.free.back();
    from.free.pop_back();
  }
  {
    const std::scoped_lock held(made->lock_);  // against an event that comes late (descriptor.W1)
    made->fd_ = fd;
    made->loop_group_ = 0;
    made->interest_ = 0;
    made->is_tcp_ = false;
    // relaxed, all: a fiber that gets to know this state gets it from the owner, by an edge of theirs
    const auto changes = made->changes_[index(side::in)].load(std::memory_order_relaxed);
    made->drained_at_.store(changes - 1, std::memory_order_relaxed);
    made->always_read_.store(false, std::memory_order_relaxed);
    made->reader_frame_.store(nullptr, std::memory_order_relaxed);
    made->state_.store(state::open, std::memory_order_relaxed);  // relaxed: as those above
  }
  return made;
}

void descriptor_state::release() noexcept {
  // acquire: edge `released` in
  while (state_.load(std::memory_order_acquire) == state::closing) std::this_thread::yield();
  state_.store(state::closed, std::memory_order_relaxed);  // relaxed: no other thread uses it now (contract)
  ::close(fd_);
  auto& to = slabs::all();
  const std::scoped_lock held(to.lock);
  to.free.push_back(this);
}

/// Marks it, replaces the file, wakes the waiters: in that order, as a fiber that is woken, or whose call fails, must
/// find it closed.
bool descriptor_state::close() noexcept {
  auto seen = state::open;
  // acq_rel: edge `closed` out
  if (!state_.compare_exchange_strong(seen, state::closing, std::memory_order_acq_rel)) return false;
  // descriptor.W2. Fails only if the process may by now have fewer descriptors than this one's number: then release()
  // closes it.
  ::dup3(slabs::all().dead, fd_, O_CLOEXEC);
  state_.store(state::closed, std::memory_order_release);  // edge `released` out
  notify(true, true, false);                               // descriptor.W6
  return true;
}

ssize_t descriptor_state::read(void* into, std::size_t size) noexcept {
  if (!is_tcp_) return ::read(fd_, into, size);
  const auto before = changes(side::in);
  const auto count = receive_bytes(fd_, into, size);
  if (count < 0) {
    errno = static_cast<int>(-count);
    return -1;
  }
  note_read(static_cast<std::size_t>(count), size, before);
  return count;
}

// --- events ---

/// Makes epoll events into sides. EPOLLIN alone, the common event, takes the short way.
void descriptor_state::handle_events(std::uint32_t events) noexcept {
  if (events == EPOLLIN && notify_reader()) [[likely]]
    return;
  constexpr std::uint32_t both = EPOLLHUP | EPOLLERR;
  constexpr std::uint32_t ends = both | EPOLLRDHUP | EPOLLPRI;
  notify((events & (ends | EPOLLIN)) != 0, (events & (both | EPOLLOUT)) != 0, (events & ends) != 0);
}

/// The short way of notify(true, false, false). \return false: it did nothing, as more than one fiber waits.
[[gnu::always_inline]] inline bool descriptor_state::notify_reader() noexcept {
  sched::waker fiber;
  {
    const std::scoped_lock held(lock_);
    if (more_waiters_ != nullptr) [[unlikely]]
      return false;
    auto& changes = changes_[index(side::in)];
    auto& first = first_waiter_[index(side::in)];
    // release: edge `changed` out; relaxed: as in notify()
    changes.store(changes.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    fiber = first.load(std::memory_order_relaxed);  // relaxed: under the lock
    first.store({}, std::memory_order_relaxed);     // likewise
  }
  fiber.wake();
  return true;
}

/// Raises the count of these sides and wakes their waiters. The first waiter of a side is woken after the lock is given
/// back; those in the list before, as each of them takes the lock before its place in the list is gone (descriptor.W4).
/// \param ends  the end, an error or urgent data was reported.
void descriptor_state::notify(bool in, bool out, bool ends) noexcept {
  const bool happens[2] = {in, out};
  sched::waker first[2];
  {
    const std::scoped_lock held(lock_);
    if (ends) always_read_.store(true, std::memory_order_relaxed);  // relaxed: edge `changed` follows (descriptor.W5)
    for (const auto side : {0, 1}) {
      if (!happens[side]) continue;
      // release: edge `changed` out. relaxed: it is written under the lock only, hence no read-modify-write.
      changes_[side].store(changes_[side].load(std::memory_order_relaxed) + 1, std::memory_order_release);
      // relaxed, both: under the lock
      first[side] = first_waiter_[side].load(std::memory_order_relaxed);
      first_waiter_[side].store({}, std::memory_order_relaxed);
    }
    for (waiter** at = &more_waiters_; *at != nullptr;) {
      waiter& one = **at;
      if (!happens[index(one.which)]) {
        at = &one.next;
        continue;
      }
      *at = one.next;
      one.fiber.wake();
    }
  }
  first[0].wake();
  first[1].wake();
}

// --- the epoll ---

/// Registers the descriptor, for this side, with the epoll of this worker, or with the one that has it already; under
/// the lock.
error descriptor_state::register_with(loop& here, side which) {
  const bool known = loop_group_ == here.number();
  const auto wanted = static_cast<std::uint8_t>(1U << index(which));
  if (known && (interest_ & wanted) != 0) return {};
  const auto interest = static_cast<std::uint8_t>(known ? interest_ | wanted : wanted);
  const int epoll = known ? epoll_ : here.descriptor();
  epoll_event asked{};
  asked.events = EPOLLET;
  if ((interest & (1U << index(side::in))) != 0) asked.events |= EPOLLIN | EPOLLRDHUP | EPOLLPRI;
  if ((interest & (1U << index(side::out))) != 0) asked.events |= EPOLLOUT;
  asked.data.ptr = this;
  int result = epoll_ctl(epoll, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd_, &asked);
  // EEXIST: this epoll has it from before, and another runtime has used it since.
  if (result != 0 && errno == EEXIST) result = epoll_ctl(epoll, EPOLL_CTL_MOD, fd_, &asked);
  if (result != 0) return failed(errno);
  loop_group_ = here.number();
  epoll_ = epoll;
  interest_ = interest;
  here.epoll_is_used();
  return {};
}

void descriptor_state::unregister() noexcept {
  if (loop_group_ != 0) epoll_ctl(epoll_, EPOLL_CTL_DEL, fd_, nullptr);
}

// --- waiting ---

namespace {
const char* what_for(side which, const char* reading) noexcept { return which == side::in ? reading : "room to write"; }
}  // namespace

/// Under the lock: registers, compares the count (descriptor.W3), and enlists the fiber. Then parks.
error descriptor_state::wait_for_change(side which, std::uint32_t before, const deadline& until, bool waited) {
  const sched::this_fiber::stay on_this_worker;  // errno and stop_callbacks are the thread's
  if (waited && until.passed()) return errc::timed_out;
  auto& first = first_waiter_[index(which)];
  loop& here = loop::current();  // before the lock: it may have to be made, which takes long
  waiter me{sched::this_fiber::self(), which};
  {
    const std::scoped_lock held(lock_);
    if (closed()) return errc::closed;
    if (const auto ec = register_with(here, which)) return ec;
    if (changes(which) != before) return {};                  // descriptor.W3
    if (!first.load(std::memory_order_relaxed)) [[likely]] {  // relaxed, both: under the lock
      first.store(me.fiber, std::memory_order_relaxed);
      note_frame(which);
    } else {
      sched::this_fiber::lend_frame("a second wait for one descriptor");
      me.listed = true;
      me.next = std::exchange(more_waiters_, &me);
    }
  }
  if (me.listed || !until.none()) [[unlikely]]
    return wait_enlisted(me, before, until);
  do {
    // Does not throw: perform()'s caller asked whether the fiber may wait.
    sched::this_fiber::park(what_for(which, what_for_reading));
  } while (changes(which) == before);
  return {};  // perhaps because it was closed: perform() looks
}

/// The wait of a fiber that may leave before its event, or that is in the list: at its end it takes itself out under
/// the lock. A notify() that is waking it has the lock until then, so `me` outlives that (descriptor.W4).
error descriptor_state::wait_enlisted(waiter& me, std::uint32_t before, const deadline& until) {
  struct place {
    [[nodiscard]] bool changed() const noexcept { return self.changes(me.which) != before; }
    ~place() {  // also when an exception passes
      if (changed() && !me.listed) [[likely]]
        return;
      const std::scoped_lock held(self.lock_);
      auto& first = self.first_waiter_[index(me.which)];
      // relaxed, both: under the lock
      if (first.load(std::memory_order_relaxed) == me.fiber) first.store({}, std::memory_order_relaxed);
      waiter** at = &self.more_waiters_;
      while (*at != nullptr && *at != &me) at = &(*at)->next;
      if (*at != nullptr) *at = me.next;
    }
    descriptor_state& self;
    waiter& me;
    const std::uint32_t before;
  } const mine{*this, me, before};

  return error::of_wait(sched::this_fiber::wait_until([&mine] { return mine.changed(); }, until.time(), until.stop(),
                                                      what_for(me.which, what_for_reading)));
}

// --- reports ---

/// For a report: notes what each fiber waits for that waits for a descriptor. Copies the waiters of each state under
/// its lock, which fibers hold for some nanoseconds and never over a wait; asks the system about them afterwards.
void descriptor_state::note_waits(sched::detail::wait_notes& to) {
  using sched::detail::fiber;
  std::vector<descriptor_state*> all_slabs;
  {
    auto& all = slabs::all();
    const std::scoped_lock held(all.lock);
    all_slabs = all.first;
  }
  struct one_wait {
    const fiber* waiting;
    int fd;
    side which;
  };
  std::vector<one_wait> waits;
  for (descriptor_state* const first_of_slab : all_slabs) {
    for (std::size_t i = 0; i < slabs::states_per_slab; ++i) {
      descriptor_state& of = first_of_slab[i];
      const auto known = waits.size();
      // Under the spin lock nothing may throw or take long. So the memory is there before, and where it is too little,
      // this state is read again with twice as much.
      for (std::size_t places = 2; !of.closed(); places *= 2) {
        waits.resize(known);
        waits.reserve(known + places);
        const std::scoped_lock held(of.lock_);
        bool fits = true;
        const auto add = [&](const sched::waker& waits_there, side which) {
          fits = waits.size() < known + places;
          if (fits) waits.push_back({fiber::behind(waits_there), of.fd_, which});
          return fits;
        };
        for (const auto which : {side::in, side::out}) {
          const auto first = of.first_waiter_[index(which)].load(std::memory_order_relaxed);  // relaxed: under the lock
          if (first) add(first, which);
        }
        const waiter* other = of.more_waiters_;
        while (other != nullptr && add(other->fiber, other->which)) other = other->next;
        if (fits) break;
      }
    }
  }
  for (const auto& each : waits) to[each.waiting] = describe_wait(each.fd, each.which);
}

}  // namespace detail
}  // namespace io
}  // namespace v1
}  // namespace shunt
