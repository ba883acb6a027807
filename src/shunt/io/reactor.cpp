#include <shunt/io/reactor.hpp>

#include <string>
#include <utility>
#include <vector>

#include <shunt/io/detail/helper_pool.hpp>
#include <shunt/io/detail/loop.hpp>
#include <shunt/io/detail/ring.hpp>
#include <shunt/io/io_error.hpp>

namespace shunt {
inline namespace v1 {
namespace io {

namespace {

using rings = std::vector<std::unique_ptr<detail::ring>>;

/// One for each worker; none if the options ask for none, or the kernel refuses. Sets `said` to reactor::backend().
rings make_rings(int workers, backend wanted, std::string& said) {
  rings made;
  said = "epoll; files by helpers";
  if (wanted == backend::epoll) return made;
  try {
    for (int i = 0; i < workers; ++i) made.push_back(std::make_unique<detail::ring>());
    said = "epoll; files by io_uring";
  } catch (const detail::ring::refused& why) {
    if (wanted == backend::io_uring) throw io_error("reactor: " + std::string(why.call), why.code);
    said += " (" + std::string(why.call) + ": " + why.code.message() + " (" + std::to_string(why.code.value()) + "))";
    made.clear();
  }
  return made;
}

}  // namespace

struct reactor::impl {
  impl(sched::runtime& of, const reactor_options& wanted) : workers(of) {
    auto files = make_rings(of.workers(), wanted.use, backend);
    files.resize(static_cast<std::size_t>(of.workers()));
    const auto group = std::make_shared<detail::loop_group>(wanted.helpers);
    for (auto& one : files) loops.push_back(std::make_unique<detail::loop>(group, std::move(one)));
    try {
      for (int i = 0; i < of.workers(); ++i) of.attach(i, *loops[static_cast<std::size_t>(i)]);
    } catch (...) {
      detach();
      throw;
    }
  }
  ~impl() { detach(); }
  impl(const impl&) = delete;
  impl& operator=(const impl&) = delete;

  void detach() noexcept {
    for (int i = 0; i < workers.workers(); ++i) {
      workers.detach(i, *loops[static_cast<std::size_t>(i)]);
    }
  }

  sched::runtime& workers;
  std::string backend;
  std::vector<std::unique_ptr<detail::loop>> loops;
};

reactor::reactor(sched::runtime& workers, reactor_options wanted) {
  if (wanted.helpers < 1) {
    throw usage_error(error_number(319), "reactor: " + std::to_string(wanted.helpers) + " helpers; at least 1");
  }
  impl_ = std::make_unique<impl>(workers, wanted);
}

reactor::~reactor() = default;

const std::string& reactor::backend() const noexcept { return impl_->backend; }

bool sleep_until(std::chrono::steady_clock::time_point time, std::stop_token stop) {
  const auto never = [] { return false; };
  return sched::this_fiber::wait_until(never, time, stop, "a time") != sched::wait_end::stopped;
}

bool sleep_for(std::chrono::nanoseconds time, std::stop_token stop) {
  const deadline until(time, std::move(stop));
  return sleep_until(until.time(), until.stop());
}

void detail::on_helper(const char* call, const std::function<void()>& body, const deadline& until) {
  sched::this_fiber::require_wait(until.call(call));
  if (const auto ec = loop::current().helpers().perform(body, until)) throw io_error(call, ec, 0, until.where());
}

}  // namespace io
}  // namespace v1
}  // namespace shunt
