/// A server of HTTP/1.1: a fiber a connection.
///
/// Source: RFC 9112. Empty where Boost's headers are not installed (Debian: libboost-dev).
#pragma once

#include <shunt/io/detail/http_parser.hpp>
#include <shunt/io/detail/http_wire.hpp>
#include <shunt/io/http/message.hpp>

#if __has_include(<boost/beast/http/parser.hpp>)

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

#include <shunt/io/net.hpp>
#include <shunt/sched.hpp>
#include <shunt/sync/semaphore.hpp>

namespace shunt {
inline namespace v1 {
namespace io {
namespace http {

/// What a server allows its clients, and what it does about a handler that fails.
struct server_options {
  /// At a time, at least 1; further ones wait in the listener's queue. One that has been used keeps two buffers of
  /// 16 KiB and a fiber's stack.
  std::size_t connections = 10'000;
  std::size_t header = 16 * 1024;  ///< bytes of a request's first line and header; more: status 431
  std::size_t body = 1024 * 1024;  ///< bytes of a request's body; more: status 413
  std::chrono::nanoseconds idle = std::chrono::seconds(60);     ///< for the first byte of the next request
  std::chrono::nanoseconds request = std::chrono::seconds(30);  ///< from then on, for the whole of it: status 408
  std::chrono::nanoseconds reply = std::chrono::seconds(30);    ///< for a write that waits for the peer
  /// What left a handler, or a response::content; the client got status 500, or sees that a part is missing. Any
  /// worker, in the connection's fiber; an exception that leaves it is dropped. Null: a line on stderr.
  std::function<void(const http::request&, const std::exception_ptr&)> failed{};
};

namespace detail {

/// A line on stderr, as server_options::failed has it.
inline void report_failure(const server_options& how, const http::request& of, const std::exception_ptr& why) noexcept {
  try {
    if (how.failed) return how.failed(of, why);
    std::string text = "no std::exception";
    try {
      std::rethrow_exception(why);
    } catch (const std::exception& known) {
      text = known.what();
    } catch (...) {  // its type is not known
    }
    std::fprintf(stderr, "shunt: HTTP: the handler of %s %s failed: %s\n", of.method.c_str(), of.target.c_str(),
                 text.c_str());
  } catch (...) {  // as promised
  }
}

/// Leaves a connection whose peer may still be sending: a close at once would reset it, and the reply might be lost on
/// its way. Reads on for a second, or a megabyte. Source: RFC 9112, 9.6.
template <typename Stream>
void leave(Stream& peer) noexcept {
  try {
    if constexpr (std::same_as<Stream, stream>) {
      peer.shutdown(shutdown_side::writing);
    } else if constexpr (requires { peer.shutdown(deadline{}); }) {
      peer.shutdown(std::chrono::seconds(1));
    }
    const deadline until{std::chrono::seconds(1)};
    std::error_code ec;
    char room[4096];
    for (std::size_t left = 1024 * 1024; left > sizeof room && !ec;) {
      const auto came = peer.read_some(buffer(room, sizeof room), ec, until);
      if (came == 0) break;
      left -= came;
    }
  } catch (...) {  // the peer has gone
  }
}

/// One connection: its requests in turn.
template <typename Handler>
class conversation {
 public:
  /// All of them outlive it.
  conversation(buffered_reader& in, buffered_writer& out, const Handler& handler, const server_options& how,
               const std::stop_token& stop)
      : in_(in), out_(out), handler_(handler), how_(how), stop_(stop) {}

  /// A fiber. \return whether the peer may still be sending. \throws io_error.
  bool run() {
    for (bool goes_on = true; goes_on;) {
      std::error_code ec;
      if (!await_message(in_, ec, {how_.idle, stop_})) return false;  // the end, an idle peer, or a stop
      request_parser parser;
      parser.header_limit(static_cast<std::uint32_t>(std::min<std::size_t>(how_.header, UINT32_MAX)));
      parser.body_limit(how_.body);
      const parsed came = read(parser, how_.request);
      if (came.io == errc::timed_out) return refuse(408, "the request took too long\n");
      if (came.io || came.wrong == beast::error::partial_message) return false;  // the peer has left
      if (!came.good()) {
        return refuse(status_of(came.wrong), boost::system::error_code(came.wrong).message() + "\n");
      }
      if (parser.get().version() >= 11 && parser.get().count(beast::field::host) != 1) {
        return refuse(400, "a request of HTTP/1.1 names one Host\n");
      }
      goes_on = answer(parser);
    }
    out_.flush(how_.reply);
    return true;
  }

 private:
  parsed read(request_parser& parser, const deadline& until) {
    const parsed header = feed(in_, parser, [&] { return parser.is_header_done(); }, until);
    if (!header.good()) return header;
    if (!parser.is_done() && in_.buffered().empty() &&
        boost::beast::iequals(parser.get()[beast::field::expect], "100-continue")) {
      out_.write("HTTP/1.1 100 Continue\r\n\r\n", how_.reply);  // the read below flushes it; RFC 9110, 10.1.1
    }
    parser.eager(true);
    return feed(in_, parser, [&] { return parser.is_done(); }, until);
  }

  bool refuse(int status, std::string why) {
    write_reply(out_, response(status, std::move(why)), {.keep_alive = false, .patience = how_.reply});
    out_.flush(how_.reply);
    return true;
  }

  response reply_to(const request& asked) const {
    try {
      response made = handler_(asked);
      require_reply_status(made.status);
      return made;
    } catch (...) {
      report_failure(how_, asked, std::current_exception());
      return response(500, "the server has failed\n");
    }
  }

  /// \return whether the connection goes on.
  bool answer(request_parser& parser) {
    const bool modern = parser.get().version() >= 11;
    const bool wanted = modern && parser.keep_alive();
    const request asked = request_of(parser);
    const response reply = reply_to(asked);
    const bool goes_on = wanted && !stop_.stop_requested() && !asks_to_close(reply.headers);
    const auto failure = write_reply(
        out_, reply,
        {.only_header = asked.method == "HEAD", .keep_alive = goes_on, .chunks = modern, .patience = how_.reply});
    if (failure) report_failure(how_, asked, failure);
    return goes_on && !failure;
  }

  buffered_reader& in_;
  buffered_writer& out_;
  const Handler& handler_;
  const server_options& how_;
  const std::stop_token& stop_;
};

/// A fiber: accepts a connection, of which a fiber of its own calls `take`. \return false: the listener is closed, or a
/// stop was requested.
template <typename Take>
bool accept_one(listener& at, const std::stop_token& stop, const Take& take) {
  for (;;) {
    std::error_code ec;
    auto peer = std::make_shared<stream>(at.accept(ec, stop));
    if (!ec) {
      sched::this_worker::current("http::serve")
          .spawn([take, peer] { take(std::move(*peer)); }, {.name = "http", .even_without_stack = true},
                 std::source_location());  // no line of the program
      return true;
    }
    if (ec == errc::closed || ec == errc::cancelled) return false;
    const bool none_left = ec == std::errc::too_many_files_open || ec == std::errc::too_many_files_open_in_system ||
                           ec == std::errc::no_buffer_space || ec == std::errc::not_enough_memory;
    if (!none_left) throw io_error("accept at " + at.local().text(), ec);
    sched::this_fiber::sleep_for(std::chrono::milliseconds(10));  // the connection waits until another one ends
  }
}

/// Permits for connections: each takes one, and gives it back at its end.
class room_for_connections {
 public:
  explicit room_for_connections(std::size_t most)
      : most_(static_cast<std::ptrdiff_t>(most)), free_(std::make_shared<sync::semaphore>(most_)) {}

  /// Calls `begin`, which returns whether it began a connection. \return that.
  template <typename Begin>
  bool take(const Begin& begin) {
    free_->acquire();
    bool begun = false;
    try {
      begun = begin();
    } catch (...) {
      free_->release();
      throw;
    }
    if (!begun) free_->release();
    return begun;
  }
  /// What a connection calls at its end, as the last thing. Shared: a call may still be under way when the others know.
  [[nodiscard]] std::shared_ptr<sync::semaphore> permits() const noexcept { return free_; }
  /// Waits until all connections have ended.
  void wait() {
    for (std::ptrdiff_t i = 0; i < most_; ++i) free_->acquire();
  }

 private:
  std::ptrdiff_t most_;
  std::shared_ptr<sync::semaphore> free_;
};

}  // namespace detail

/// What replies to a request: a function that takes it and returns the reply. It runs in the connection's fiber, on any
/// worker, beside itself for other connections; it may wait. What it throws is status 500 for the client.
template <typename H>
concept request_handler = std::invocable<const H&, const request&> &&
                          std::convertible_to<std::invoke_result_t<const H&, const request&>, response>;

/// As serve(), below, over what `wrap` makes of each connection, in the connection's fiber:
/// `[&](io::stream peer) { return io::tls_stream(std::move(peer), context, 10s); }`. What it throws ends that
/// connection, and is no failure of the server.
template <std::invocable<stream> Wrap, request_handler Handler>
void serve_over(listener& at, const Wrap& wrap, const Handler& handler, const server_options& how = {},
                const std::stop_token& stop = {}) {
  if (how.connections == 0) {
    throw usage_error(error_number(331), "http::serve: server_options::connections is 0; it is at least 1");
  }
  std::stop_source ending;
  const auto end = [&ending] { ending.request_stop(); };
  const std::stop_callback with_caller(stop, end);
  const std::stop_callback with_run(sched::this_worker::current("http::serve").stop_token(), end);
  const auto token = ending.get_token();
  detail::room_for_connections room(how.connections);
  const auto converse = [&wrap, &handler, &how, &token, permits = room.permits()](stream base) {
    try {
      sched::this_fiber::require_stack();
      auto peer = wrap(std::move(base));
      buffered_writer out(peer);
      buffered_reader in(peer, out);
      if (detail::conversation(in, out, handler, how, token).run()) detail::leave(peer);
    } catch (...) {  // the peer has gone, or there is no stack for it: its connection is over
    }
    permits->release();
  };
  std::exception_ptr failure;
  try {
    while (room.take([&] { return detail::accept_one(at, token, converse); })) {
    }
  } catch (...) {
    failure = std::current_exception();
  }
  ending.request_stop();
  room.wait();
  if (failure) std::rethrow_exception(failure);
}

/// A fiber: serves what connects to `at`, until `at` is closed or a stop is requested, of `stop` or of the whole run.
/// Then idle connections end, the others get their reply with `Connection: close`, and the call returns when all have
/// ended. Requests of one connection are replied to in turn; replies leave together where the client does not wait for
/// each. A client that breaks HTTP's rules, or the limits of `how`, gets a status that says so, and the connection
/// ends.
/// \param handler  used until the call returns, by many fibers at a time
/// \throws io_error: accept() failed, other than for want of descriptors or memory: then it goes on when some are free;
///         usage_error if `how` allows no connections, or outside a runtime.
template <request_handler Handler>
void serve(listener& at, const Handler& handler, const server_options& how = {}, const std::stop_token& stop = {}) {
  serve_over(at, [](stream peer) { return peer; }, handler, how, stop);
}

}  // namespace http
}  // namespace io
}  // namespace v1
}  // namespace shunt

#endif
