#include <shunt/io/reactor.hpp>

#include <string>
#include <utility>
#include <vector>

#include <shunt/io/detail/helpers.hpp>
#include <shunt/io/detail/loop.hpp>
#include <shunt/io/detail/ring.hpp>
#include <shunt/io/failure.hpp>

namespace shunt {
inline namespace v1 {
namespace io {

namespace {

using rings = std::vector<std::unique_ptr<detail::ring>>;

/// One a worker; none if there are to be none. `said` is reactor::backend().
rings make_rings(int workers, backend wanted, std::string& said) {
  rings made;
  said = "epoll; files by helpers";
  if (wanted == backend::epoll) return made;
  try {
    for (int i = 0; i < workers; ++i) made.push_back(std::make_unique<detail::ring>());
    said = "epoll; files by io_uring";
  } catch (const detail::ring::refused& why) {
    if (wanted == backend::io_uring) throw failure("reactor: " + std::string(why.call), why.code);
    said += " (" + std::string(failure(why.call, why.code).what()) + ")";
    made.clear();
  }
  return made;
}

}  // namespace

struct reactor::parts {
  parts(sched::runtime& of, const reactor_options& wanted) : workers(of) {
    auto files = make_rings(of.workers(), wanted.use, backend);
    files.resize(static_cast<std::size_t>(of.workers()));
    const auto shared = std::make_shared<detail::common>(wanted.helpers);
    for (auto& one : files) loops.push_back(std::make_unique<detail::loop>(shared, std::move(one)));
    try {
      for (int i = 0; i < of.workers(); ++i) of.attach(i, *loops[static_cast<std::size_t>(i)]);
    } catch (...) {
      detach();
      throw;
    }
  }
  ~parts() { detach(); }
  parts(const parts&) = delete;
  parts& operator=(const parts&) = delete;

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
    throw usage_error("reactor: " + std::to_string(wanted.helpers) + " helpers; at least 1");
  }
  parts_ = std::make_unique<parts>(workers, wanted);
}

reactor::~reactor() = default;

const std::string& reactor::backend() const noexcept { return parts_->backend; }

bool sleep_until(std::chrono::steady_clock::time_point when, std::stop_token stop) {
  const auto awaken = [who = sched::this_fiber::self()] { who.wake(); };
  const std::stop_callback on_stop(stop, awaken);
  while (!stop.stop_requested()) {
    if (!sched::this_fiber::park_until(when, "a time")) return true;
  }
  return false;
}

bool sleep_for(std::chrono::nanoseconds how_long, std::stop_token stop) {
  const limit until(how_long, std::move(stop));
  return sleep_until(until.deadline(), until.stop());
}

void detail::on_helper(const char* call, const std::function<void()>& body, const limit& how_long) {
  sched::this_fiber::require_wait(call);
  if (const auto bad = loop::current().pool().perform(body, how_long)) throw failure(call, bad);
}

}  // namespace io
}  // namespace v1
}  // namespace shunt
