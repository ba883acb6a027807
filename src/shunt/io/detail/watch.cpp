#include <shunt/io/detail/watch.hpp>

#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
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

  /// \throws std::bad_alloc; failure if the system has no descriptor left.
  void grow();

  std::mutex lock;
  std::vector<watch*> free;   // with room for every watch there is, so that giving one back cannot fail
  std::vector<watch*> slabs;  // the first of each
  std::size_t watches = 0;
  int dead = -1;  // a file on which every call fails (W2): O_PATH gives no access
};

void watch::store::grow() {
  if (dead < 0) dead = ::open("/", O_PATH | O_CLOEXEC);
  if (dead < 0) throw failure("descriptor: open", {errno, std::system_category()});
  if (free.capacity() < watches + slab) free.reserve(2 * watches + slab);
  slabs.reserve(slabs.size() + 1);
  if (slabs.empty()) sched::detail::add_note_source(note_waits);
  auto* const fresh = new watch[slab];
  watches += slab;
  slabs.push_back(fresh);
  for (std::size_t i = 0; i < slab; ++i) free.push_back(&fresh[i]);
}

namespace {

std::string text_of(const sockaddr_storage& where, socklen_t length) {
  char text[INET6_ADDRSTRLEN + 8] = "";
  if (where.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(where);
    inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    return std::string(text) + ':' + std::to_string(ntohs(v4.sin_port));
  }
  if (where.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(where);
    inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
    return '[' + std::string(text) + "]:" + std::to_string(ntohs(v6.sin6_port));
  }
  if (where.ss_family == AF_UNIX) {
    const auto& local = reinterpret_cast<const sockaddr_un&>(where);
    const auto at = offsetof(sockaddr_un, sun_path);
    if (length > at && local.sun_path[0] != '\0')
      return std::string(local.sun_path, strnlen(local.sun_path, length - at));
    return "a local socket";
  }
  return "a socket";
}

/// What a wait on that descriptor is for, and with whom: all of it asked of the system now.
std::string note_of(int fd, side which) {
  const std::string number = " descriptor " + std::to_string(fd);
  sockaddr_storage where{};
  socklen_t length = sizeof where;
  const auto its = [&](auto asked) {
    length = sizeof where;
    return asked(fd, reinterpret_cast<sockaddr*>(&where), &length) == 0;
  };
  int accepts = 0;
  socklen_t room = sizeof accepts;
  if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &accepts, &room) == 0) {
    if (accepts != 0) return ", to accept from" + number + (its(::getsockname) ? " at " + text_of(where, length) : "");
    const bool has_peer = its(::getpeername);
    if (!has_peer) return (which == side::in ? ", to read from" : ", to connect") + number;
    return (which == side::in ? ", to read from" : ", to write to") + number + ", peer " + text_of(where, length);
  }
  char target[64];
  const auto count = ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), target, sizeof target);
  return (which == side::in ? ", to read from" : ", to write to") + number +
         (count > 0 ? ", " + std::string(target, static_cast<std::size_t>(count)) : "");
}

}  // namespace

/// For a report: of each fiber that waits for a descriptor. The locks are held for some ns by fibers, never over a
/// wait.
void watch::note_waits(sched::detail::wait_notes& to) {
  using sched::detail::fiber;
  std::vector<watch*> slabs;
  {
    auto& all = store::the();
    const std::scoped_lock held(all.lock);
    slabs = all.slabs;
  }
  struct one_wait {
    const fiber* waiting;
    int fd;
    side which;
  };
  std::vector<one_wait> waits;
  for (watch* const first : slabs) {
    for (std::size_t i = 0; i < store::slab; ++i) {
      watch& w = first[i];
      const auto known = waits.size();
      // Nothing may throw under the spin lock, nor take long: where the places do not do, once more with twice as many.
      for (std::size_t places = 2; !w.closed(); places *= 2) {
        waits.resize(known);
        waits.reserve(known + places);
        const std::scoped_lock held(w.lock_);
        bool all = true;
        const auto add = [&](const sched::waker& waits_there, side which) {
          all = waits.size() < known + places;
          if (all) waits.push_back({fiber::behind(waits_there), w.fd_, which});
          return all;
        };
        for (const auto which : {side::in, side::out}) {
          const auto first_there = w.first_[index(which)].load(std::memory_order_relaxed);  // relaxed: under the lock
          if (first_there) add(first_there, which);
        }
        for (const waiter* other = w.others_; other != nullptr && add(other->who, other->which); other = other->next) {
        }
        if (all) break;
      }
    }
  }
  for (const auto& each : waits) to[each.waiting] = note_of(each.fd, each.which);
}

watch* watch::take(int fd) {
  auto& from = store::the();
  watch* made = nullptr;
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
    const std::scoped_lock held(made->lock_);  // against an event that comes late (W1)
    made->fd_ = fd;
    made->known_to_ = 0;
    made->interest_ = 0;
    made->short_is_empty_ = false;
    // relaxed, all: whoever else gets to know this watch is told by its owner, with an edge of theirs
    const auto changes = made->changes_[index(side::in)].load(std::memory_order_relaxed);
    made->empty_at_.store(changes - 1, std::memory_order_relaxed);
    made->ends_.store(false, std::memory_order_relaxed);
    made->frames_.store(nullptr, std::memory_order_relaxed);
    made->state_.store(state::open, std::memory_order_relaxed);
  }
  return made;
}

void watch::drop() noexcept {
  while (state_.load(std::memory_order_acquire) == state::closing) std::this_thread::yield();  // edge `released` in
  state_.store(state::closed, std::memory_order_relaxed);  // relaxed: nobody else is here
  ::close(fd_);
  auto& to = store::the();
  const std::scoped_lock held(to.lock);
  to.free.push_back(this);
}

bool watch::close() noexcept {
  auto seen = state::open;
  // edge `closed` out
  if (!state_.compare_exchange_strong(seen, state::closing, std::memory_order_acq_rel)) return false;
  // W2. Cannot fail, unless the process may have fewer descriptors by now than this one's number: then drop() closes
  // it.
  ::dup3(store::the().dead, fd_, O_CLOEXEC);
  state_.store(state::closed, std::memory_order_release);  // edge `released` out
  tell(true, true, false);                                 // W6
  return true;
}

void watch::forget() noexcept {
  if (known_to_ != 0) epoll_ctl(epoll_, EPOLL_CTL_DEL, fd_, nullptr);
}

ssize_t watch::read(void* into, std::size_t size) noexcept {
  if (!short_is_empty_) return ::read(fd_, into, size);
  const auto before = seen(side::in);
  const auto count = receive_bytes(fd_, into, size);
  if (count < 0) {
    errno = static_cast<int>(-count);
    return -1;
  }
  has_read(static_cast<std::size_t>(count), size, before);
  return count;
}

/// The short way of tell(true, false, false). \return false: somebody stands beside the first, and nothing has
/// happened.
[[gnu::always_inline]] inline bool watch::came() noexcept {
  sched::waker who;
  {
    const std::scoped_lock held(lock_);
    if (others_ != nullptr) [[unlikely]]
      return false;
    auto& changes = changes_[index(side::in)];
    auto& first = first_[index(side::in)];
    // As in tell().
    changes.store(changes.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    who = first.load(std::memory_order_relaxed);
    first.store({}, std::memory_order_relaxed);
  }
  who.wake();
  return true;
}

void watch::happened(std::uint32_t events) noexcept {
  if (events == EPOLLIN && came()) [[likely]]
    return;
  constexpr std::uint32_t both = EPOLLHUP | EPOLLERR;
  constexpr std::uint32_t ends = both | EPOLLRDHUP | EPOLLPRI;
  tell((events & (ends | EPOLLIN)) != 0, (events & (both | EPOLLOUT)) != 0, (events & ends) != 0);
}

/// Something has happened on these sides.
void watch::tell(bool in, bool out, bool ends) noexcept {
  const bool happens[2] = {in, out};
  sched::waker who[2];
  {
    const std::scoped_lock held(lock_);
    if (ends) ends_.store(true, std::memory_order_relaxed);  // relaxed: edge `changed` follows, W5
    for (const auto side : {0, 1}) {
      if (!happens[side]) continue;
      // release: edge `changed` out. Only under the lock, hence no read-modify-write.
      changes_[side].store(changes_[side].load(std::memory_order_relaxed) + 1, std::memory_order_release);
      // relaxed, both: under the lock
      who[side] = first_[side].load(std::memory_order_relaxed);
      first_[side].store({}, std::memory_order_relaxed);
    }
    for (waiter** at = &others_; *at != nullptr;) {
      waiter& one = **at;
      if (!happens[index(one.which)]) {
        at = &one.next;
        continue;
      }
      *at = one.next;
      one.who.wake();  // finds the count grown, and takes the lock before its place is gone
    }
  }
  who[0].wake();
  who[1].wake();
}

/// Lets this worker's epoll know the descriptor, for this side; under the lock.
trouble watch::know(loop& here, side which) {
  const bool known = known_to_ == here.number();
  const auto wanted = static_cast<std::uint8_t>(1U << index(which));
  if (known && (interest_ & wanted) != 0) return {};
  const auto interest = static_cast<std::uint8_t>(known ? interest_ | wanted : wanted);
  const int epoll = known ? epoll_ : here.descriptor();
  epoll_event asked{};
  asked.events = EPOLLET;
  if ((interest & (1U << index(side::in))) != 0) asked.events |= EPOLLIN | EPOLLRDHUP | EPOLLPRI;
  if ((interest & (1U << index(side::out))) != 0) asked.events |= EPOLLOUT;
  asked.data.ptr = this;
  int done = epoll_ctl(epoll, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd_, &asked);
  // It was here before, and with another reactor meanwhile.
  if (done != 0 && errno == EEXIST) done = epoll_ctl(epoll, EPOLL_CTL_MOD, fd_, &asked);
  if (done != 0) return failed(errno);
  known_to_ = here.number();
  epoll_ = epoll;
  interest_ = interest;
  here.watches_something();
  return {};
}

namespace {
const char* what_for(side which, const char* reading) noexcept { return which == side::in ? reading : "room to write"; }
}  // namespace

trouble watch::would_wait(side which, std::uint32_t before, const limit& how_long, bool again) {
  const sched::this_fiber::stay on_this_worker;  // errno, and what a stop_callback knows of its thread
  if (again && how_long.over()) return errc::timed_out;
  auto& first = first_[index(which)];
  loop& here = loop::current();  // which may have to be made, and that takes long
  waiter me{sched::this_fiber::self(), which};
  {
    const std::scoped_lock held(lock_);
    if (closed()) return errc::closed;
    if (const auto bad = know(here, which)) return bad;
    if (seen(which) != before) return {};                     // W3
    if (!first.load(std::memory_order_relaxed)) [[likely]] {  // relaxed, both: under the lock
      first.store(me.who, std::memory_order_relaxed);
      waits_here(which);
    } else {
      me.beside = true;
      me.next = std::exchange(others_, &me);
    }
  }
  if (me.beside || !how_long.none()) [[unlikely]]
    return wait_with(me, before, how_long);
  do {
    sched::this_fiber::park(
        what_for(which, what_for_reading));  // perform() was allowed to wait, so this does not throw
  } while (seen(which) == before);
  return {};  // perhaps because it was closed: perform() looks
}

/// Of who may leave before it is told, or stands in others_: then whoever tells it must be done with its place (W4).
trouble watch::wait_with(waiter& me, std::uint32_t before, const limit& how_long) {
  struct place {
    [[nodiscard]] bool told() const noexcept { return self.seen(me.which) != before; }
    ~place() {  // also when an exception passes
      if (told() && !me.beside) [[likely]]
        return;
      const std::scoped_lock held(self.lock_);
      auto& first = self.first_[index(me.which)];
      // relaxed, both: under the lock
      if (first.load(std::memory_order_relaxed) == me.who) first.store({}, std::memory_order_relaxed);
      waiter** at = &self.others_;
      while (*at != nullptr && *at != &me) at = &(*at)->next;
      if (*at != nullptr) *at = me.next;
    }
    watch& self;
    waiter& me;
    const std::uint32_t before;
  } const mine{*this, me, before};

  const auto awaken = [who = me.who] { who.wake(); };
  std::optional<std::stop_callback<decltype(awaken)>> on_stop;
  if (how_long.stop().stop_possible()) on_stop.emplace(how_long.stop(), awaken);
  while (!mine.told()) {
    if (how_long.stop().stop_requested()) return errc::cancelled;
    if (!sched::this_fiber::park_until(how_long.deadline(), what_for(me.which, what_for_reading)) && !mine.told()) {
      return errc::timed_out;
    }
  }
  return {};
}

}  // namespace detail
}  // namespace io
}  // namespace v1
}  // namespace shunt
