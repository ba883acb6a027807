#include <shunt/io/detail/transfer.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <unistd.h>
#include <csignal>
#include <ctime>

namespace shunt {
inline namespace v1 {
namespace io {
namespace detail {
namespace {

outcome read_system(watch* on, room into, const limit& how_long) {
  if (on != nullptr && on->is_tcp()) {
    sched::this_fiber::require_wait("read");
    return on->receive(into.data(), into.size(), how_long);
  }
  return perform("read", on, side::in, how_long, [on, into](int) { return on->read(into.data(), into.size()); });
}

/// Some bytes, at most `most`, behind those kept. While it waits there is no memory for them yet.
outcome read_more(watch* on, rest& kept, std::size_t most, const limit& how_long) {
  if (on != nullptr && on->drained()) kept.shrink();
  return perform("read", on, side::in, how_long, [on, &kept, most](int) {
    char* const space = kept.space(most);
    const auto come = on->read(space, most);
    const int code = errno;
    kept.grown(most - static_cast<std::size_t>(std::max<ssize_t>(come, 0)));
    if (come < 0) kept.shrink();
    errno = code;
    return come;
  });
}

std::size_t from_rest(rest& kept, room into) noexcept {
  const auto have = kept.view();
  const auto count = std::min(have.size(), into.size());
  if (count != 0) std::memcpy(into.data(), have.data(), count);
  kept.taken(count);
  return count;
}

/// write(2), with EPIPE but without SIGPIPE, whatever the program wants with that signal. A write
/// raises it in its own thread; while that thread holds it off, it can be taken back.
/// Never inlined: its half kilobyte of signal sets would spread every write to a socket over nine more cache lines of
/// stack.
[[gnu::noinline]] ssize_t write_quietly(int fd, bytes what) noexcept {
  sigset_t pipe;
  sigset_t before;
  sigset_t pending;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  sigpending(&pending);
  if (sigismember(&pending, SIGPIPE) != 0) return ::write(fd, what.data(), what.size());  // held off
  pthread_sigmask(SIG_BLOCK, &pipe, &before);
  const auto result = ::write(fd, what.data(), what.size());
  const int code = errno;
  if (result < 0 && code == EPIPE) {
    constexpr timespec at_once{};
    while (sigtimedwait(&pipe, nullptr, &at_once) < 0 && errno == EINTR) {
    }
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = code;
  return result;
}

}  // namespace

outcome read_some(watch* on, rest& kept, room into, const limit& how_long) {
  if (into.size() == 0) return {};
  if (!kept.view().empty()) return {from_rest(kept, into), {}};
  return read_system(on, into, how_long);
}

outcome read_exactly(watch* on, rest& kept, room into, const limit& how_long) {
  std::size_t have = from_rest(kept, into);
  while (have < into.size()) {
    const auto one = read_system(on, into.from(have), how_long);
    if (one.bad) return {have, one.bad};
    if (one.moved == 0) return {have, errc::end_of_stream};
    have += one.moved;
  }
  return {have, {}};
}

outcome read_until(watch* on, rest& kept, std::string_view delimiter, std::size_t most, const limit& how_long) {
  constexpr std::size_t bytes_a_read = 4096;
  if (delimiter.empty()) throw usage_error("read_until: the delimiter is empty");
  if (most == 0) throw usage_error("read_until: at most 0 bytes");
  std::size_t searched = 0;
  for (;;) {
    const auto have = kept.view();
    const auto overlap = std::min(searched, delimiter.size() - 1);
    const auto at = have.find(delimiter, searched - overlap);
    if (at != have.npos && at + delimiter.size() <= most) return {at + delimiter.size(), {}};
    if (have.size() >= most) return {have.size(), errc::too_long};
    searched = have.size();
    const auto more = std::min(bytes_a_read, most - searched);
    const auto one = read_more(on, kept, more, how_long);
    if (one.bad) return {searched, one.bad};
    if (one.moved == 0) return {searched, searched == 0 ? trouble{} : errc::end_of_stream};
  }
}

outcome write_all(watch* on, sends_as how, bytes what, const limit& how_long) {
  if (how == sends_as::socket) return send_all(on, what, how_long);
  std::size_t gone = 0;
  while (gone < what.size()) {
    const bytes left = what.from(gone);
    const auto one = perform("write", on, side::out, how_long, [left](int fd) { return write_quietly(fd, left); });
    if (one.bad) return {gone, one.bad};
    gone += one.moved;
  }
  return {gone, {}};
}

void raise(const std::string& what, const outcome& of) {
  if (of.bad == errc::end_of_stream) throw end_of_stream(what, of.bad, of.moved);
  throw failure(what, of.bad, of.moved);
}

}  // namespace detail
}  // namespace io
}  // namespace v1
}  // namespace shunt
