/// Parts of a worker of a PGAS job, without a job: what they ask of it, and how they wait, is the test's.
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <shunt/pgas/detail/control_messages.hpp>
#include <shunt/pgas/detail/outbound.hpp>
#include <shunt/sched.hpp>
#include <shunt/transport.hpp>
#include <support/expect.hpp>

namespace shunt::testing {

using train_to = std::function<void(rail::train&, int worker)>;

/// Hands trains to the test, and notes failures.
struct no_job final : pgas::detail::job_link {
  no_job(transport::carrier& carrier, train_to take) : job_link(carrier), deliver_to(std::move(take)) {}
  void fail(const std::string& message, fault kind) noexcept override {
    failures += message;
    kind_of_failure = kind;
    if (fails) failed_ = true;
  }
  bool deliver(rail::train& t, int to_worker) override {
    deliver_to(t, to_worker);
    return false;
  }
  [[nodiscard]] std::string fault_of(const rail::train& t) const override { return look_at(t); }
  using job_link::fault_of;
  void spawn_on(int local_worker, const char* name, std::function<void()> body) override {
    spawned.push_back({local_worker, name, std::move(body)});
  }
  [[nodiscard]] pgas::detail::task_sends* sends_of(int pe) noexcept override { return of_tasks(pe); }

  train_to deliver_to;
  std::function<std::string(const rail::train&)> look_at = [](const rail::train&) { return std::string(); };
  std::function<pgas::detail::task_sends*(int pe)> of_tasks = [](int) { return nullptr; };
  struct fiber {
    int worker;
    std::string name;
    std::function<void()> body;
  };
  std::vector<fiber> spawned;
  std::string failures;
  fault kind_of_failure{};
  bool fails = false;  // from the first failure on
};

/// Waits by letting the other fibers run, until something has come, or a check of another one has failed.
struct by_yielding final : pgas::detail::waiting {
  using waiting::waiting;
  bool progress() override { return look(); }
  void begin_wait(const pgas::detail::event&) override {}
  bool idle_step(int&) override {
    expect(!sched::this_worker::current().stop_token().stop_requested(), "all go on");
    sched::this_fiber::yield();
    return false;
  }
  std::function<bool()> look = [] { return false; };
};

/// The test decides what a wait for trains is.
struct asked_credit final : rail::credit {
  void wait(std::uint8_t channel, std::size_t trains, shunt::call_site call) override {
    on_wait(channel, trains, call.name());
  }
  void came_home(std::size_t trains) noexcept override { home += trains; }
  std::function<void(std::uint8_t, std::size_t, const char*)> on_wait = [](auto, auto, const char* call) {
    throw std::logic_error(std::string(call) + ": no train");
  };
  std::size_t home = 0;
};

/// What a worker needs to send.
struct worker {
  worker(pgas::detail::worker_facts known, transport::carrier& carrier, train_to take,
         const pgas::detail::outbound::endpoint::pool_size& size = {512, 64, 256, 64})
      : facts(std::move(known)),
        job(carrier, std::move(take)),
        selectors(facts.pes_here, facts.first_pe, facts.workers),
        waits(handlers, job),
        out({facts, job, selectors, handlers, waits, credit, arrived}, size, nullptr, nullptr, {}) {
    wire::handler_table::number();
  }

  /// One PE a worker.
  static pgas::detail::worker_facts facts_of(int index, int workers) {
    pgas::detail::worker_facts f;
    f.index = f.first_pe = index;
    f.pes_here = 1;
    f.pes = f.workers = workers;
    return f;
  }

  const pgas::detail::worker_facts facts;
  no_job job;
  pgas::detail::selector_table selectors;
  pgas::detail::running_handler handlers;
  by_yielding waits;
  asked_credit credit;
  pgas::detail::arrived_trains arrived;
  pgas::detail::outbound out;
};

/// Calls take(captures, payload) for each message of one kind in the train, in order, and sends the train home.
template <class Message, class Take>
void unload(rail::train& t, const Take& take) {
  namespace detail = pgas::detail;
  for (std::byte* at = t.goods(); at < t.goods() + t.head.bytes;) {
    auto& batch = *reinterpret_cast<wire::batch_head*>(at);
    expect(&wire::handler_table::at(batch.handler) == &detail::entry_of(detail::control_key<Message>()),
           "another message");
    std::byte* p = batch.messages();
    std::byte* const end = p + batch.bytes;
    while (p != end) {
      const auto& head = *reinterpret_cast<const wire::span_head*>(p);
      Message message;
      std::memcpy(&message, p + sizeof head, sizeof message);
      take(message, std::span<const std::byte>(p + sizeof head + sizeof message, head.bytes - sizeof message));
      p += wire::round_up(sizeof head + head.bytes, wire::span_alignment);
    }
    at = t.goods() + wire::round_up(static_cast<std::size_t>(end - t.goods()), wire::batch_alignment);
  }
  rail::send_home(t);
}

}  // namespace shunt::testing
