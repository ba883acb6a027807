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

outcome read_system(descriptor_state* on, buffer into, const deadline& until) {
  if (on != nullptr && on->is_tcp()) {
    sched::this_fiber::require_wait(until.call("read"));
    return on->receive(into.data(), into.size(), until);
  }
  return perform("read", on, side::in, until, [on, into](int) { return on->read(into.data(), into.size()); });
}

/// Reads some bytes, at most `most`, behind those buffered. Allocates for each attempt and frees after one that failed,
/// so that a fiber that waits here holds no memory for bytes to come.
outcome read_more(descriptor_state* on, read_buffer& buffered, std::size_t most, const deadline& until) {
  if (on != nullptr && on->is_drained()) buffered.shrink();
  return perform("read", on, side::in, until, [on, &buffered, most](int) {
    char* const space = buffered.prepare(most);
    const auto count = on->read(space, most);
    const int code = errno;
    buffered.trim(most - static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (count < 0) buffered.shrink();
    errno = code;
    return count;
  });
}

/// Whether bytes are buffered that a closed end must not hand out.
bool closed_over(const descriptor_state* on, const read_buffer& buffered) {
  return !buffered.view().empty() && (on == nullptr || on->closed());
}

/// \throws what require_wait() throws: a transaction that is undone could not give them back.
std::size_t take_buffered(read_buffer& buffered, buffer into) {
  const auto have = buffered.view();
  if (have.empty()) return 0;
  sched::this_fiber::require_wait("read");
  const auto count = std::min(have.size(), into.size());
  if (count != 0) std::memcpy(into.data(), have.data(), count);
  buffered.consume(count);
  return count;
}

/// write(2), with EPIPE but without SIGPIPE, whatever the program does with that signal. A write raises it in its own
/// thread. So this function blocks the signal for the thread, writes, and takes back the signal that is pending then.
/// Where one was pending before, the thread blocks it already, and it must stay.
/// Never inlined: its half kilobyte of signal sets would spread every write to a socket over nine more cache lines of
/// stack.
[[gnu::noinline]] ssize_t write_quietly(int fd, const_buffer what) noexcept {
  sigset_t pipe;
  sigset_t before;
  sigset_t pending;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  sigpending(&pending);
  if (sigismember(&pending, SIGPIPE) != 0) return ::write(fd, what.data(), what.size());
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

outcome read_some(descriptor_state* on, read_buffer& buffered, buffer into, const deadline& until) {
  if (into.size() == 0) return {};
  if (closed_over(on, buffered)) return {0, errc::closed};
  if (!buffered.view().empty()) return {take_buffered(buffered, into), {}};
  return read_system(on, into, until);
}

outcome read_exactly(descriptor_state* on, read_buffer& buffered, buffer into, const deadline& until) {
  if (into.size() != 0 && closed_over(on, buffered)) return {0, errc::closed};
  std::size_t have = take_buffered(buffered, into);
  while (have < into.size()) {
    const auto one = read_system(on, into.from(have), until);
    if (one.ec) return {have, one.ec};
    if (one.moved == 0) return {have, errc::end_of_stream};
    have += one.moved;
  }
  return {have, {}};
}

/// Searches what is buffered, then reads more, in turn. Each search begins where the last one ended, less a delimiter's
/// length, as a delimiter may lie across two reads.
outcome read_until(descriptor_state* on, read_buffer& buffered, std::string_view delimiter, std::size_t most,
                   const deadline& until) {
  constexpr std::size_t bytes_per_read = 4096;
  require_delimiter(delimiter, most, until);
  sched::this_fiber::require_wait(until.call("read_until"));
  if (closed_over(on, buffered)) return {0, errc::closed};
  std::size_t searched = 0;
  for (;;) {
    const auto have = buffered.view();
    const auto overlap = std::min(searched, delimiter.size() - 1);
    const auto at = have.find(delimiter, searched - overlap);
    if (at != have.npos && at + delimiter.size() <= most) return {at + delimiter.size(), {}};
    if (have.size() >= most) return {have.size(), errc::too_long};
    searched = have.size();
    const auto more = std::min(bytes_per_read, most - searched);
    const auto one = read_more(on, buffered, more, until);
    if (one.ec) return {searched, one.ec};
    if (one.moved == 0) return {searched, searched == 0 ? error{} : errc::end_of_stream};
  }
}

void require_delimiter(std::string_view delimiter, std::size_t most, const deadline& until) {
  const auto call = until.call("read_until");
  if (delimiter.empty()) {
    throw usage_error(error_number(313), "read_until: the delimiter is empty" + call.place(), call.where());
  }
  if (most == 0) throw usage_error(error_number(314), "read_until: at most 0 bytes" + call.place(), call.where());
}

outcome write_all(descriptor_state* on, write_call how, const_buffer what, const deadline& until) {
  if (how == write_call::send) return send_all(on, what, until);
  std::size_t written = 0;
  while (written < what.size()) {
    const const_buffer left = what.from(written);
    const auto one = perform("write", on, side::out, until, [left](int fd) { return write_quietly(fd, left); });
    if (one.ec) return {written, one.ec};
    written += one.moved;
  }
  return {written, {}};
}

void raise(const std::string& what, const outcome& of, const std::source_location& where) {
  if (of.ec == errc::end_of_stream) throw end_of_stream(what, of.ec, of.moved, where);
  throw io_error(what, of.ec, of.moved, where);
}

}  // namespace detail
}  // namespace io
}  // namespace v1
}  // namespace shunt
