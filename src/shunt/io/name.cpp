#include <shunt/io/name.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <netdb.h>

#include <shunt/base/spin_lock.hpp>
#include <shunt/io/detail/helper_pool.hpp>
#include <shunt/io/detail/loop.hpp>
#include <shunt/sched.hpp>

namespace shunt {
inline namespace v1 {
namespace io {
namespace {

struct host_and_port {
  std::string host;
  std::string port;
};

host_and_port split(std::string_view text, call_site call) {
  const auto refuse = [&](const char* why) {
    throw usage_error(
        error_number(318),
        "resolve: `" + std::string(text) + "` " + why + "; expected host:port, such as example.org:80" + call.place(),
        call.where());
  };
  const auto colon = text.rfind(':');
  if (colon == text.npos || colon + 1 == text.size()) refuse("has no port");
  const auto host = text.substr(0, colon);
  if (host.empty()) refuse("has no host");
  if (host.find(':') != host.npos) refuse("has a host with a colon: an IPv6 address stands in brackets");
  if (text.find('\0') != text.npos) refuse("has a zero byte");
  return {std::string(host), std::string(text.substr(colon + 1))};
}

bool is_local(std::string_view host) {
  constexpr std::string_view local = "localhost";
  if (host.ends_with('.')) host.remove_suffix(1);
  if (host.size() < local.size()) return false;
  const auto last = host.substr(host.size() - local.size());
  const auto same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; };
  return std::ranges::equal(last, local, same) &&
         (host.size() == local.size() || host[host.size() - local.size() - 1] == '.');
}

/// Whether an address can be made of it without a look-up.
bool is_address(std::string_view text) {
  if (text.starts_with("unix:") || text.starts_with('[')) return true;
  const auto host = text.substr(0, text.rfind(':'));
  return !host.empty() && host.find_first_not_of("0123456789.") == host.npos && std::ranges::count(host, '.') == 3;
}

/// A call of the resolver. The fiber that asked may give up; the fiber that waits for the helper keeps it alive.
///
///   state       asker     done    goes on
///   asked       a fiber   false   the helper
///   given up    empty     false   the helper; what it finds is dropped
///   answered    a fiber   true    the asker, which is woken
///
/// Invariant: before `done` only the helper and its fiber touch what is above the guard, after it only the asker.
struct look_up {
  host_and_port of;
  int code = 0;         // of getaddrinfo(3)
  int system_code = 0;  // errno, for EAI_SYSTEM
  std::vector<address> found;
  std::exception_ptr failure;

  spin_lock guard;  // guards the others
  bool done = false;
  sched::waker asker;  // empty once it has given up
};

/// On a helper thread. A host that was asked for by a numeric port has one entry an address: SOCK_STREAM only.
void ask_resolver(look_up& l) noexcept {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  l.code = ::getaddrinfo(l.of.host.c_str(), l.of.port.c_str(), &wanted, &first);
  if (l.code == EAI_SYSTEM) l.system_code = errno;
  if (l.code != 0) return;
  try {
    for (const addrinfo* each = first; each != nullptr; each = each->ai_next) {
      sockaddr_storage where{};
      const auto* const bytes = reinterpret_cast<const std::byte*>(each->ai_addr);
      std::copy_n(bytes, std::min<std::size_t>(each->ai_addrlen, sizeof where), reinterpret_cast<std::byte*>(&where));
      const address one(where, each->ai_addrlen);
      if (std::ranges::find(l.found, one) == l.found.end()) l.found.push_back(one);
    }
  } catch (...) {
    l.failure = std::current_exception();
  }
  ::freeaddrinfo(first);
}

/// A fiber of its own, which outlives the asker's wait.
void run_look_up(look_up& l) noexcept {
  try {
    if (const auto ec = detail::loop::current().helpers().perform([&l] { ask_resolver(l); }, {}))
      throw io_error("resolve", ec);
  } catch (...) {
    l.failure = std::current_exception();
  }
  const std::lock_guard held(l.guard);
  l.done = true;
  l.asker.wake();
}

std::error_code code_of(const look_up& l) {
  if (l.code == 0) return {};
  if (l.code == EAI_SYSTEM) return {l.system_code, std::system_category()};
  return {l.code, name_category()};
}

/// Asks in another fiber, so that the deadline can end this wait while the resolver's call goes on.
std::vector<address> look_up_host(host_and_port of, std::error_code& ec, const deadline& until) {
  const auto mine = std::make_shared<look_up>();
  mine->of = std::move(of);
  mine->asker = sched::this_fiber::self();
  sched::this_worker::current("resolve").spawn(
      [mine] { run_look_up(*mine); },
      {.worker = sched::this_worker::index(), .name = "resolve", .even_without_stack = true}, until.where());
  const auto done = [&mine] {
    const std::lock_guard held(mine->guard);
    return mine->done;
  };
  const auto give_up = [&mine] {
    const std::lock_guard held(mine->guard);
    mine->asker = {};
  };
  try {
    const auto how = sched::this_fiber::wait_until(done, until.time(), until.stop(), "the resolver");
    ec = detail::error::of_wait(how);
  } catch (...) {
    give_up();
    throw;
  }
  if (ec) {
    give_up();
    return {};
  }
  if (mine->failure) std::rethrow_exception(mine->failure);
  ec = code_of(*mine);
  return std::move(mine->found);
}

/// The deadline of one attempt, so that the addresses after it have their turn.
deadline part_of(const deadline& whole, std::size_t attempts_left) {
  using namespace std::chrono_literals;
  if (attempts_left <= 1) return whole;
  const auto now = deadline::clock::now();
  auto part = deadline::clock::duration(10s);
  if (whole.time() != deadline::clock::time_point::max()) {
    part = std::min(part, (whole.time() - now) / static_cast<long>(attempts_left));
  }
  return {now + part, whole.stop(), whole.where()};
}

}  // namespace

std::vector<address> resolve(std::string_view where, std::error_code& ec, const deadline& until) {
  ec.clear();
  if (is_address(where)) return {address(where, until.where())};
  auto of = split(where, until.call("resolve"));
  sched::this_fiber::require_wait(until.call("resolve"));
  if (until.stop().stop_requested()) {
    ec = errc::cancelled;
    return {};
  }
  const bool by_number = of.port.find_first_not_of("0123456789") == of.port.npos;
  if (by_number && is_local(of.host)) return {address("127.0.0.1:" + of.port), address("[::1]:" + of.port)};
  if (is_local(of.host)) of.host = "localhost";
  return look_up_host(std::move(of), ec, until);
}

std::vector<address> resolve(std::string_view where, const deadline& until) {
  std::error_code ec;
  auto found = resolve(where, ec, until);
  if (ec) throw io_error("resolve " + std::string(where), ec, 0, until.where());
  return found;
}

stream detail::connect_by_name(std::string_view where, std::error_code& ec, const deadline& until) {
  sched::this_fiber::require_wait(until.call("connect"));
  const auto found = resolve(where, ec, until);
  stream made;
  for (std::size_t i = 0; i != found.size(); ++i) {
    made = connect(found[i], ec, part_of(until, found.size() - i));
    if (!ec || ec == errc::cancelled || until.passed()) break;
  }
  return made;
}

stream detail::connect_by_name(std::string_view where, const deadline& until) {
  std::error_code ec;
  auto made = connect_by_name(where, ec, until);
  if (ec) throw io_error("connect to " + std::string(where), ec, 0, until.where());
  return made;
}

}  // namespace io
}  // namespace v1
}  // namespace shunt
