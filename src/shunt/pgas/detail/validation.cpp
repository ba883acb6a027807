#include <algorithm>
#include <cstring>
#include <shunt/base/error.hpp>
#include <shunt/pgas/detail/control_messages.hpp>
#include <shunt/pgas/detail/validation.hpp>
#include <shunt/pgas/detail/worker_facts.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {
namespace {

std::string number(std::uint64_t n) { return std::to_string(n); }
std::string count_of(int n) { return std::to_string(n); }

}  // namespace

std::string damaged(const rail::train& t, std::size_t batch, const std::string& what) {
  const auto& head = t.head;
  std::string text = "rank " + number(head.rank) + " sent a damaged train (" + number(head.bytes) + " bytes, channel " +
                     number(head.channel) + ", worker " + number(head.from) + " to worker " + number(head.to) + "): ";
  if (batch < head.bytes) text += "batch at byte " + number(batch) + ": ";
  return error_number(809).added_to(
      text + what + "; the ranks do not run the same program, or the network or the memory of a machine changes data");
}

wire::route control_check(std::span<const std::byte> captures) noexcept {
  std::uint64_t words[5] = {captures.size()};
  static_assert(sizeof words >= 40, "captures of messages between workers have at most 32 bytes");
  if (!captures.empty()) std::memcpy(words + 1, captures.data(), std::min<std::size_t>(captures.size(), 32));
  const auto check = wire::check_of(words);
  return {static_cast<std::uint16_t>(check >> 16), static_cast<std::uint16_t>(check)};
}

/// Reads one train. Each function returns what is wrong, or nothing.
class validator::reader {
 public:
  reader(const facts& known, const rail::train& t) noexcept : known_(known), train_(t), head_(t.head) {}

  std::string read() {
    if (auto wrong = ends(); !wrong.empty()) return damaged(train_, ~std::size_t{0}, wrong);
    for (std::size_t at = 0; at < head_.bytes;) {
      if (head_.bytes - at < sizeof(wire::batch_head)) {
        return damaged(train_, at, "its head needs " + number(sizeof(wire::batch_head)) + " bytes");
      }
      std::memcpy(&batch_, train_.goods() + at, sizeof batch_);
      const std::size_t room = head_.bytes - at - sizeof batch_;
      if (auto wrong = check_batch(train_.goods() + at + sizeof batch_, room); !wrong.empty())
        return damaged(train_, at, wrong);
      at = wire::round_up(at + sizeof batch_ + batch_.bytes, wire::batch_alignment);
    }
    return {};
  }

 private:
  [[nodiscard]] bool one_hop(int a, int b) const noexcept {
    return known_.hops == 1 || a / known_.columns == b / known_.columns || a % known_.columns == b % known_.columns;
  }
  [[nodiscard]] int worker_of(std::uint16_t pe) const noexcept { return known_.worker_of[pe]; }

  /// The train's own head.
  std::string ends() const {
    if (head_.bytes > train_.capacity) {
      return "it has " + number(head_.bytes) + " bytes, a train carries " + number(train_.capacity);
    }
    if (head_.empty != 0) return "empty is " + number(head_.empty) + ", but messages follow";
    if (head_.from >= known_.workers || known_.rank_of[head_.from] != head_.rank) {
      return "from is worker " + number(head_.from) + ", which is not one of that rank";
    }
    if (head_.to >= known_.workers || known_.rank_of[head_.to] != known_.rank) {
      return "to is worker " + number(head_.to) + ", which is not one of this rank, " + count_of(known_.rank);
    }
    return {};
  }

  /// In the order in which the fields are needed; the check comes last, for it can only say that something is wrong.
  std::string check_batch(const std::byte* messages, std::size_t room) {
    if (batch_.handler >= wire::handler_table::size()) {
      return "handler " + number(batch_.handler) + ", but the program has " + number(wire::handler_table::size());
    }
    how_ = &wire::handler_table::at(batch_.handler);
    if (batch_.bytes > room)
      return "bytes are " + number(batch_.bytes) + ", but " + number(room) + " follow in the train";
    const std::string handler = "handler " + std::string(how_->name());
    if (batch_.mailbox != how_->mailbox()) {
      return "mailbox " + number(batch_.mailbox) + ", but " + handler + " has " + number(how_->mailbox());
    }
    const bool between_workers = batch_.mailbox == control;
    if (between_workers != (batch_.selector == 0)) return "selector " + number(batch_.selector) + " of " + handler;
    if (between_workers ? head_.channel != 2 && !is_end_mark() : head_.channel == 2)
      return handler + " on channel " + number(head_.channel);
    if (!flags_fit()) return "flags " + number(batch_.flags) + " of " + handler;
    if (batch_.count == 0) return "count is 0";
    if (!between_workers) {
      if (auto wrong = head_routes(); !wrong.empty()) return wrong;
      if (!one_hop(head_.from, head_.to)) {
        return "workers " + number(head_.from) + " and " + number(head_.to) + " are two hops apart";
      }
    }
    auto wrong = (batch_.flags & wire::varying) != 0 ? spans(messages) : strides(messages);
    if (const auto sum = wire::head_check(batch_, head_.from, head_.to); wrong.empty() && batch_.check != sum) {
      wrong = "check is " + number(batch_.check) + ", the head adds up to " + number(sum);
    }
    return wrong;
  }

  /// Such may travel with messages of their selector, on their channel.
  [[nodiscard]] bool is_end_mark() const noexcept { return how_ == &entry_of(control_key<end_mark>()); }

  /// What open_batch() makes of the handler's flags; never `unloaded`.
  [[nodiscard]] bool flags_fit() const noexcept {
    unsigned base = how_->flags();
    if (batch_.mailbox == control) return batch_.flags == base;
    if (have_routes(base, known_.plain, known_.requests_routed)) base |= wire::routed;
    if (known_.hops == 1) return batch_.flags == base;
    if ((base & wire::unrouted) != 0) return false;  // kept continuations are for trains that go straight
    return batch_.flags == (base | wire::mixed) ||
           batch_.flags == ((base & ~unsigned{wire::requests}) | wire::forwarded);
  }

  /// The PEs that the head names, where messages have no routes.
  std::string head_routes() const {
    if (batch_.from >= known_.pes)
      return "from is PE " + number(batch_.from) + ", but the job has " + count_of(known_.pes);
    if (!known_.plain) return {};
    if (worker_of(batch_.from) != head_.from) {
      return "from is PE " + number(batch_.from) + ", which is not of worker " + number(head_.from);
    }
    if (batch_.to >= known_.pes || worker_of(batch_.to) != head_.to) {
      return "to is PE " + number(batch_.to) + ", which is not of worker " + number(head_.to);
    }
    return {};
  }

  [[nodiscard]] bool fits(wire::route way) const noexcept {
    if (way.to >= known_.pes || way.from >= known_.pes) return false;
    const int there = worker_of(way.to);
    return there == head_.to || ((batch_.flags & wire::mixed) != 0 && one_hop(head_.to, there));
  }
  /// Any worker of the sender's rank may have loaded it, for a task. What has been passed on may be from anywhere; but
  /// a request of this worker's own PE would not have left it.
  [[nodiscard]] bool may_be_from(std::uint16_t pe) const noexcept {
    const int home = worker_of(pe);
    if ((batch_.flags & wire::forwarded) == 0) return known_.rank_of[static_cast<std::size_t>(home)] == head_.rank;
    return home != head_.to || (how_->flags() & wire::requests) == 0;
  }
  /// Of a message that says its way; empty: none.
  [[nodiscard]] std::string fault_of(std::size_t which, wire::route way) const {
    if (fits(way) && may_be_from(way.from)) [[likely]]
      return {};
    if (fits(way)) {
      return "message " + number(which) + " is from PE " + number(way.from) + ", which does not send by worker " +
             number(head_.from);
    }
    return "message " + number(which) + " is from PE " + number(way.from) + " for PE " + number(way.to) +
           ", which worker " + number(head_.to) + " neither has nor passes on to";
  }

  std::string strides(const std::byte* messages) const {
    const bool has_routes = (batch_.flags & wire::routed) != 0;
    const std::size_t stride = has_routes ? how_->layout().routed : how_->layout().plain;
    if (batch_.stride != stride) {
      return "stride is " + number(batch_.stride) + ", messages of handler " + std::string(how_->name()) + " have " +
             number(stride);
    }
    if (std::uint64_t{batch_.count} * stride != batch_.bytes) {
      return "count is " + number(batch_.count) + " messages of " + number(stride) + " bytes, bytes are " +
             number(batch_.bytes);
    }
    if (!has_routes) return {};
    for (std::size_t i = 0; i < batch_.count; ++i) {
      wire::route way;
      std::memcpy(&way, messages + i * stride, sizeof way);
      if (auto wrong = fault_of(i, way); !wrong.empty()) [[unlikely]]
        return wrong;
    }
    return {};
  }

  std::string spans(const std::byte* messages) const {
    if (batch_.stride != 0) return "stride is " + number(batch_.stride) + ", but messages say their lengths";
    const std::size_t least = how_->layout().least;
    std::size_t count = 0;
    for (std::size_t at = 0; at < batch_.bytes; ++count) {
      wire::span_head head;
      const std::size_t left = batch_.bytes - at;
      if (left < sizeof head) return "message " + number(count) + " has no room for its head";
      std::memcpy(&head, messages + at, sizeof head);
      const std::size_t whole = wire::round_up(sizeof head + std::size_t{head.bytes}, wire::span_alignment);
      if (whole > left || head.bytes < least) {
        return "message " + number(count) + " has " + number(head.bytes) + " bytes; at least " + number(least) +
               " are captures, and " + number(left - sizeof head) + " follow in the batch";
      }
      if (batch_.mailbox == control) {
        const auto check = control_check({messages + at + sizeof head, least});
        if (check.to != head.way.to || check.from != head.way.from) {
          return std::string(how_->name()) + ": its check does not fit";
        }
      } else if (auto wrong = fault_of(count, head.way); !wrong.empty()) {
        return wrong;
      }
      at += whole;
    }
    if (count != batch_.count)
      return "count is " + number(batch_.count) + ", but " + number(count) + " messages follow";
    return {};
  }

  const facts& known_;
  const rail::train& train_;
  const rail::train_head& head_;
  wire::batch_head batch_;
  const wire::handler* how_ = nullptr;
};

std::string validator::fault_of(const rail::train& t) const { return reader(known_, t).read(); }

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
