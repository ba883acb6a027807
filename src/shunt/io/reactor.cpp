#include <shunt/io/reactor.hpp>

#include <atomic>
#include <string>
#include <vector>

#include <shunt/io/detail/helpers.hpp>
#include <shunt/io/detail/loop.hpp>
#include <shunt/io/failure.hpp>

namespace shunt {
inline namespace v1 {
namespace io {

struct reactor::parts {
  parts(sched::runtime& of, int most_helpers) : workers(of), pool(most_helpers) {
    static std::atomic<std::uint64_t> numbers{0};
    const auto number = numbers.fetch_add(1, std::memory_order_relaxed) + 1;  // relaxed: unique
    for (int i = 0; i < of.workers(); ++i) {
      loops.push_back(std::make_unique<detail::loop>(number, pool));
    }
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
  detail::helpers pool;
  std::vector<std::unique_ptr<detail::loop>> loops;
};

reactor::reactor(sched::runtime& workers, reactor_options wanted) {
  if (wanted.helpers < 1) {
    throw usage_error("reactor: " + std::to_string(wanted.helpers) + " helpers; at least 1");
  }
  parts_ = std::make_unique<parts>(workers, wanted.helpers);
}

reactor::~reactor() = default;

bool sleep_until(std::chrono::steady_clock::time_point when, std::stop_token stop) {
  const auto awaken = [who = sched::this_fiber::self()] { who.wake(); };
  const std::stop_callback on_stop(stop, awaken);
  while (!stop.stop_requested()) {
    if (!sched::this_fiber::park_until(when)) return true;
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
