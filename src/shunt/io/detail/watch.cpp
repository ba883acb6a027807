#include <shunt/io/detail/watch.hpp>

#include <memory>
#include <optional>
#include <stop_token>

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <shunt/io/detail/loop.hpp>

namespace shunt {
inline namespace v1 {
namespace io {
namespace detail {

/// Free watches, kept for ever (W1).
struct watch::store {
  static constexpr std::size_t slab = 64;

  static store& the() {
    static store* const one = new store;  // never destroyed: descriptors may be, after main()
    return *one;
  }

  std::mutex lock;
  watch* free = nullptr;
};

watch* watch::take(int fd) {
  auto& from = store::the();
  watch* made = nullptr;
  {
    const std::scoped_lock held(from.lock);
    if (from.free == nullptr) {
      watch* slab = nullptr;
      try {
        slab = new watch[store::slab];
      } catch (...) {
        ::close(fd);
        throw;
      }
      for (std::size_t i = 0; i < store::slab; ++i) {
        slab[i].next_free_ = from.free;
        from.free = &slab[i];
      }
    }
    made = from.free;
    from.free = made->next_free_;
  }
  {
    const std::scoped_lock held(made->lock_);  // against an event that comes late (W1)
    made->fd_ = fd;
    made->known_to_ = 0;
    made->interest_ = 0;
    made->short_is_empty_ = false;
    made->empty_at_.store(0, std::memory_order_relaxed);  // relaxed, both: as the word below
    made->ends_.store(false, std::memory_order_relaxed);
  }
  // relaxed: whoever else gets to know this watch is told by its owner, with an edge of theirs
  made->word_.store(0, std::memory_order_relaxed);
  return made;
}

void watch::drop() noexcept {
  close();
  SHUNT_ASSERT(word_.load(std::memory_order_relaxed) == closed_bit);
  auto& to = store::the();
  const std::scoped_lock held(to.lock);
  next_free_ = to.free;
  to.free = this;
}

bool watch::enter() noexcept {
  auto now = word_.load(std::memory_order_relaxed);  // a guess; the exchange below decides
  do {
    if ((now & closed_bit) != 0) return false;
    // relaxed: fd_ came with the owner's edge; this only keeps it open
  } while (!word_.compare_exchange_weak(now, now + one_user, std::memory_order_relaxed));
  return true;
}

void watch::leave() noexcept {
  // acq_rel: edge `used`, out of every user, into the one that closes.
  if (word_.fetch_sub(one_user, std::memory_order_acq_rel) == (closed_bit | one_user)) ::close(fd_);
}

bool watch::close() noexcept {
  const auto before = word_.fetch_or(closed_bit, std::memory_order_acq_rel);  // edge `used` in
  if (before == 0) {
    ::close(fd_);
  } else if ((before & closed_bit) == 0) {
    const std::scoped_lock held(lock_);
    tell(side::in);
    tell(side::out);
  }
  return (before & closed_bit) == 0;
}

void watch::forget() noexcept {
  if (known_to_ != 0) epoll_ctl(epoll_, EPOLL_CTL_DEL, fd_, nullptr);
}

bool watch::drained() const noexcept {
  // relaxed, both: ends_ was written before the count just seen (edge `changed`), and empty_at_ is
  // this reader's.
  return empty_at_.load(std::memory_order_relaxed) == (valid | seen(side::in)) &&
         !ends_.load(std::memory_order_relaxed);
}

ssize_t watch::read(void* into, std::size_t size) noexcept {
  if (drained()) {
    errno = EAGAIN;
    return -1;
  }
  const auto before = seen(side::in);
  const auto count = short_is_empty_ ? ::recv(fd_, into, size, 0) : ::read(fd_, into, size);  // the shorter way to a socket
  if (short_is_empty_ && count >= 0 && static_cast<std::size_t>(count) < size) {
    empty_at_.store(valid | before, std::memory_order_relaxed);  // W5
  }
  return count;
}

void watch::happened(std::uint32_t events) noexcept {
  constexpr std::uint32_t both = EPOLLHUP | EPOLLERR;
  const std::scoped_lock held(lock_);
  if ((events & (both | EPOLLRDHUP | EPOLLPRI)) != 0) {
    ends_.store(true, std::memory_order_relaxed);  // relaxed: edge `changed` follows, W5
  }
  if ((events & (both | EPOLLIN | EPOLLRDHUP | EPOLLPRI)) != 0) tell(side::in);
  if ((events & (both | EPOLLOUT)) != 0) tell(side::out);
}

void watch::tell(side which) noexcept {
  auto& changes = changes_[index(which)];
  // release: edge `changed` out. Only under the lock, hence no read-modify-write.
  changes.store(changes.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  waiter* one = std::exchange(waiters_[index(which)], nullptr);
  while (one != nullptr) {
    waiter* const next = one->next;
    const auto who = one->who;
    one->told.store(true, std::memory_order_release);  // edge `told`: not touched from here on
    who.wake();
    one = next;
  }
}

/// Lets this worker's epoll know the descriptor, for this side; under the lock.
std::error_code watch::know(side which) {
  loop& here = loop::current();
  const std::uint32_t wanted =
      which == side::in ? std::uint32_t{EPOLLIN | EPOLLRDHUP | EPOLLPRI} : std::uint32_t{EPOLLOUT};
  const bool known = known_to_ == here.reactor_number();
  if (known && (interest_ & wanted) == wanted) return {};
  const auto interest = known ? interest_ | wanted : wanted;
  const int epoll = known ? epoll_ : here.descriptor();
  epoll_event asked{};
  asked.events = interest | EPOLLET;
  asked.data.ptr = this;
  int done = epoll_ctl(epoll, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd_, &asked);
  // It was here before, and with another reactor meanwhile.
  if (done != 0 && errno == EEXIST) done = epoll_ctl(epoll, EPOLL_CTL_MOD, fd_, &asked);
  if (done != 0) return {errno, std::system_category()};
  known_to_ = here.reactor_number();
  epoll_ = epoll;
  interest_ = interest;
  here.watches_something();
  return {};
}

std::error_code watch::wait(side which, std::uint32_t before, const limit& how_long, bool again) {
  if (again && how_long.deadline() != limit::clock::time_point::max() &&
      how_long.deadline() <= limit::clock::now()) {
    return errc::timed_out;
  }
  waiter me;
  me.who = sched::this_fiber::self();
  auto& list = waiters_[index(which)];
  {
    const std::scoped_lock held(lock_);
    if (closed()) return errc::closed;
    if (const auto bad = know(which)) return bad;
    // relaxed: written under the lock
    if (changes_[index(which)].load(std::memory_order_relaxed) != before) return {};  // W3
    me.next = list;
    if (list != nullptr) list->before = &me;
    list = &me;
  }
  struct leaves {  // W4, also when an exception passes
    ~leaves() {
      if (me.told.load(std::memory_order_acquire)) return;  // edge `told`
      const std::scoped_lock held(self.lock_);
      if (me.told.load(std::memory_order_relaxed)) return;  // relaxed: told under the lock
      (me.before == nullptr ? list : me.before->next) = me.next;
      if (me.next != nullptr) me.next->before = me.before;
    }
    watch& self;
    waiter& me;
    waiter*& list;
  } const at_end{*this, me, list};

  const auto awaken = [who = me.who] { who.wake(); };
  std::optional<std::stop_callback<decltype(awaken)>> on_stop;
  if (how_long.stop().stop_possible()) on_stop.emplace(how_long.stop(), awaken);
  while (!me.told.load(std::memory_order_acquire)) {  // edge `told`
    if (how_long.stop().stop_requested()) return errc::cancelled;
    if (!sched::this_fiber::park_until(how_long.deadline(), which == side::in ? "something to read" : "room to write") && !me.told.load(std::memory_order_acquire)) {
      return errc::timed_out;
    }
  }
  return {};  // perhaps because it was closed: perform() looks
}

}  // namespace detail
}  // namespace io
}  // namespace v1
}  // namespace shunt
