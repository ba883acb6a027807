#include <shunt/actor/detail/lifecycles.hpp>

#include <chrono>
#include <string>
#include <utility>

#include <shunt/actor/detail/actor_system.hpp>
#include <shunt/actor/detail/dispatcher.hpp>
#include <shunt/actor/detail/supervision.hpp>

namespace shunt {
inline namespace v1 {
namespace actor::detail {

std::string text_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const answered_failure& f) {
    return f.text;
  } catch (...) {
    return what_of(failure);
  }
}

namespace {

/// Why a supervisor has given up, as the option that says so.
std::string limit_of(const supervisor_state& s) {
  const auto within = std::chrono::duration_cast<std::chrono::milliseconds>(s.within).count();
  return "; its supervisor has given up: supervisor_options::restarts is " + std::to_string(s.most) + " in " +
         std::to_string(within) + " ms";
}

}  // namespace

address lifecycles::spawn(std::unique_ptr<lifecycle>& about, void* object, std::uint32_t capacity, overflow when_full,
                          std::source_location where) {
  const std::scoped_lock held(lock_);
  if (closed_) {
    const call_site call = spawn_call(where);
    throw error(error_number(505), "spawn: the manager has been stopped" + call.place(), call.where());
  }
  if (vacant_ == nullptr) {
    cells_.push_back(std::make_unique<actor_cell>(of_));
    vacant_ = cells_.back().get();
  }
  actor_cell& c = *std::exchange(vacant_, vacant_->next);
  c.next = nullptr;
  c.about = std::move(about);
  c.object = object;
  c.capacity = capacity;
  c.when_full.store(when_full, std::memory_order_relaxed);      // relaxed: the way of the ref publishes it
  of_.system().living.fetch_add(1, std::memory_order_relaxed);  // relaxed: a count, see actor_system::stop()
  return {&c, c.incarnation};
}

void lifecycles::request(actor_cell& c, std::uint32_t incarnation, cell_flag what) noexcept {
  if (c.incarnation != incarnation || c.about == nullptr) return;
  of_.ready_.flag(c, what);
  if (c.state != cell_state::idle) return;
  c.begin_queued();
  of_.ready_.enqueue(c);
  of_.ready_.wake();
}

void lifecycles::close() noexcept {
  const std::scoped_lock held(lock_);
  closed_ = true;
}

void lifecycles::end_all() noexcept {
  const std::scoped_lock held(lock_);
  for (const auto& c : cells_) request(*c, c->incarnation, request_end);
}

void lifecycles::append_busy(std::string& names) const {
  for (const auto& c : cells_) {
    if (c->about == nullptr || c->state == cell_state::idle) continue;
    names += names.empty() ? "`" : ", `";
    names += std::string(c->name()) + '`';
  }
}

bool lifecycles::grant_requests(actor_cell& c) {
  const auto requested = std::exchange(c.flags, static_cast<std::uint8_t>(c.flags & ~requests));
  if ((requested & request_end) != 0) {
    end(c, {});
    return false;
  }
  of_.system().restarts.fetch_add(1, std::memory_order_relaxed);  // relaxed: a count
  return restart(c);
}

/// Asks the supervisor, if the actor has one and can be made again. Reports the end of an actor whose failure no
/// supervisor decides.
bool lifecycles::failed(actor_cell& c, const std::exception_ptr& why) {
  auto& about = *c.about;
  const std::string text = text_of(why);
  const bool can = about.supervisor != nullptr && about.restarts && about.construct != nullptr;
  if (can && about.supervisor->failure(&c, nullptr) == supervisor_state::verdict::restart) {
    of_.system().restarts.fetch_add(1, std::memory_order_relaxed);  // relaxed: a count
    return restart(c);
  }
  if ((about.supervisor == nullptr || can) && of_.system().is_news(text)) {
    of_.system().say("actor " + (about.name.empty() ? std::string("without a name") : '`' + about.name + '`') +
                     " has ended: " + text + (can ? limit_of(*about.supervisor) : ""));
  }
  end(c, text);
  return false;
}

/// Destroys the object and makes it again. If that throws, it is a failure as well.
bool lifecycles::restart(actor_cell& c) {
  auto& about = *c.about;
  if (std::exchange(about.constructed, false)) about.destroy(c.object);
  std::exception_ptr failure;
  try {
    about.construct(c.object);
    about.constructed = true;
    return true;
  } catch (...) {
    failure = std::current_exception();
  }
  return failed(c, failure);
}

/// Ends the incarnation first: from then on every message for it is dead. Then the messages of waiting senders and of
/// the mailbox become dead letters, the object goes, supervisor and monitors learn it, and the cell is vacant.
void lifecycles::end(actor_cell& c, const std::string& why) noexcept {
  const auto about = std::move(c.about);
  waiting_sender* waiting = of_.backpressure_.end_incarnation(c);
  while (waiting != nullptr) {
    waiting_sender& s = *std::exchange(waiting, waiting->next_sender);
    of_.system().end_dead(*s.message, about->name, actor_has_ended);
    s.wake();
  }
  while (!c.empty()) {
    envelope& e = *c.take_first();
    of_.system().end_dead(e, about->name, actor_has_ended);
    of_.give_back(e);
  }
  c.become_idle(of_.envelopes_);
  c.flags = no_flag;
  if (about->constructed) about->destroy(c.object);
  about->free(c.object);
  c.object = nullptr;
  if (about->supervisor != nullptr) about->supervisor->forget(c);
  of_.system().names().remove(about->name, c);
  const ended news{about->name, why};
  for (const auto& tell : about->monitors) tell(news);
  forget_handler_of(c);  // the next actor there is another one, and may be spawned at once
  {
    const std::scoped_lock held(lock_);
    c.next = std::exchange(vacant_, &c);
  }
  of_.system().actor_ended();
}

}  // namespace actor::detail
}  // namespace v1
}  // namespace shunt
