// echo in Boost.Asio: a C++20 coroutine for each connection, on one thread.
//
// The settings that cost least: an io_context that knows it has one thread, and its own executor type instead of the
// erased one.
#include <utility>  // 1.74's awaitable.hpp forgets it

#include <boost/asio.hpp>

#include <cstdio>
#include <exception>

#include "client.hpp"

namespace {

namespace asio = boost::asio;
using executor = asio::io_context::executor_type;
using tcp = asio::ip::tcp;
using stream = asio::basic_stream_socket<tcp, executor>;
using acceptor = asio::basic_socket_acceptor<tcp, executor>;
constexpr asio::use_awaitable_t<executor> waiting;

struct counts {
  long left;
  double begin = 0;
  double end = 0;
};

asio::awaitable<void, executor> serve(stream peer, counts& all) {
  char buffer[4096];
  for (;;) {
    boost::system::error_code bad;
    const auto come = co_await peer.async_read_some(asio::buffer(buffer), asio::redirect_error(waiting, bad));
    if (bad == asio::error::eof) co_return;
    if (bad) throw boost::system::system_error(bad);
    co_await asio::async_write(peer, asio::buffer(buffer, come), waiting);
    all.left -= static_cast<long>(come);
    if (all.left == 0) all.end = bench_processor_now();
  }
}

void rethrow(const std::exception_ptr& failure) {
  if (failure) std::rethrow_exception(failure);  // leaves run()
}

asio::awaitable<void, executor> accept_all(acceptor& door, long connections, counts& all,
                                           const bench::clients& others) {
  for (long i = 0; i < connections; ++i) {
    auto peer = co_await door.async_accept(waiting);
    peer.set_option(tcp::no_delay(true));
    asio::co_spawn(door.get_executor(), serve(std::move(peer), all), rethrow);  // runs up to its first wait
  }
  all.begin = bench_processor_now();
  others.go();
}

double sample(const char* program, long connections, long messages) {
  asio::io_context context(BOOST_ASIO_CONCURRENCY_HINT_UNSAFE);
  acceptor door(context, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  bench::clients others(door.local_endpoint().port(), connections, messages);
  counts all{connections * messages * static_cast<long>(bench::message_bytes)};
  asio::co_spawn(context, accept_all(door, connections, all, others), rethrow);
  context.run();
  others.finish(program);
  return all.end - all.begin;
}

}  // namespace

int main(int argc, char** argv) try {
  const auto options = bench_parse(argc, argv);
  bench::allow_descriptors(argv[0], options.table);
  for (long i = 0; i < options.warmup + options.samples; ++i) {
    const double seconds = sample(argv[0], options.table, options.rounds);
    if (i >= options.warmup) bench_report(seconds, "");
  }
} catch (const std::exception& bad) {
  std::fprintf(stderr, "%s: %s\n", argv[0], bad.what());
  return 1;
}
