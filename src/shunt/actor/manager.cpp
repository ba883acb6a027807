#include <shunt/actor/manager.hpp>

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include <shunt/actor/detail/actor_system.hpp>
#include <shunt/actor/detail/supervision.hpp>

namespace shunt {
inline namespace v1 {
namespace actor {
namespace {

detail::settings settings_of(manager_options& wanted) {
  detail::settings s;
  s.runtime = wanted.runtime;
  s.stack_bytes = wanted.stack_bytes;
  s.stop_after = wanted.stop_after;
  s.on_dead_letter = std::move(wanted.on_dead_letter);
  s.report = std::move(wanted.report);
  return s;
}

manager_options with(const sched::options& workers) {
  manager_options wanted;
  wanted.runtime = workers;
  return wanted;
}

}  // namespace

manager::manager(manager_options wanted, std::source_location where)
    : system_(std::make_unique<detail::actor_system>(settings_of(wanted), nullptr, call_site("manager", where))) {}

manager::manager(const sched::options& workers, std::source_location where) : manager(with(workers), where) {}

manager::manager(sched::runtime& on, manager_options wanted, std::source_location where) {
  const call_site call("manager", where);
  if (!sched::this_fiber::inside() || &sched::this_worker::current() != &on) {
    throw usage_error(error_number(508),
                      "manager: called outside of a fiber of the runtime that it was given" + call.place(),
                      call.where());
  }
  if (detail::dispatcher::here() != nullptr)
    throw usage_error(error_number(509), "manager: these workers have a manager already" + call.place(), call.where());
  system_ = std::make_unique<detail::actor_system>(settings_of(wanted), &on, call);
}

manager::~manager() = default;

supervisor manager::supervise(const supervisor_options& how, std::source_location where) {
  const call_site call("supervise", where);
  if (how.restarts < 0) {
    throw usage_error(error_number(510),
                      "supervise: " + std::to_string(how.restarts) + " restarts; at least 0" + call.place(),
                      call.where());
  }
  auto made = std::make_shared<detail::supervisor_state>();
  made->name = how.name;
  made->all = how.how == strategy::all_for_one;
  made->most = static_cast<std::size_t>(how.restarts);
  made->within = how.within;
  made->above = how.under.state_;
  if (made->above != nullptr) made->above->adopt(made);
  return supervisor(std::move(made));
}

void manager::refuse_capacity(std::source_location where) {
  const call_site call = detail::spawn_call(where);
  throw usage_error(error_number(514), "spawn: a mailbox's capacity must be at least 1" + call.place(), call.where());
}

void manager::refuse_arguments(std::source_location where) {
  const call_site call = detail::spawn_call(where);
  throw usage_error(error_number(515),
                    "spawn: under a supervisor an actor's arguments are kept, and these cannot be copied; "
                    "say .restarts = false" +
                        call.place(),
                    call.where());
}

detail::address manager::enter(detail::dispatcher& at, std::unique_ptr<detail::lifecycle> about, void* object,
                               const actor_options& how, std::type_index is) {
  const std::string name = about->name;
  const auto above = about->supervisor;
  detail::address actor;
  try {
    actor = at.actors().spawn(about, object, how.capacity, how.when_full, how.where);
  } catch (...) {
    about->destroy(object);
    about->free(object);
    throw;
  }
  try {
    if (above != nullptr) above->adopt(*actor.to, actor.incarnation(), how.where);
    system_->names().add(name, actor, is);
  } catch (...) {
    at.call_soon([actor] { actor.to->home->actors().request(*actor.to, actor.incarnation(), detail::request_end); });
    throw;
  }
  return actor;
}

void this_actor::stop(std::source_location where) {
  detail::actor_cell* const me = detail::actor_of_this_fiber();
  if (me == nullptr) {
    const call_site call("this_actor::stop", where);
    throw usage_error(error_number(511), "this_actor::stop: called outside a handler" + call.place(), call.where());
  }
  me->set_flag(detail::request_end);
}

namespace detail {
void throw_no_implementation(const std::type_info& interface, std::source_location where) {
  const call_site call = spawn_call(where);
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(interface.name(), nullptr, nullptr, &status), &std::free);
  throw usage_error(error_number(512),
                    std::string("create: no class is known for the interface ") +
                        (status == 0 ? name.get() : interface.name()) + ": say implement<it, its class>() before" +
                        call.place(),
                    call.where());
}

void throw_null_ref(call_site call) {
  throw usage_error(error_number(513), std::string(call.name()) + ": the reference is to no actor" + call.place(),
                    call.where());
}

void throw_no_period(call_site call) {
  throw usage_error(error_number(516), "tell_every: a period must be more than 0" + call.place(), call.where());
}
}  // namespace detail

}  // namespace actor
}  // namespace v1
}  // namespace shunt
