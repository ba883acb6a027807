#include <algorithm>
#include <cstring>
#include <shunt/pgas/detail/validation.hpp>

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
  return text + what +
         "; the ranks do not run the same program, or the network or the memory of a machine changes data";
}

wire::stop control_check(std::span<const std::byte> captures) noexcept {
  std::uint64_t words[5] = {captures.size()};
  static_assert(sizeof words >= 40, "captures of control goods have at most 32 bytes");
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
      if (head_.bytes - at < sizeof(wire::run_head)) {
        return damaged(train_, at, "its head needs " + number(sizeof(wire::run_head)) + " bytes");
      }
      std::memcpy(&run_, train_.goods() + at, sizeof run_);
      const std::size_t room = head_.bytes - at - sizeof run_;
      if (auto wrong = batch(train_.goods() + at + sizeof run_, room); !wrong.empty())
        return damaged(train_, at, wrong);
      at = wire::round_up(at + sizeof run_ + run_.bytes, wire::run_alignment);
    }
    return {};
  }

 private:
  [[nodiscard]] bool one_hop(int a, int b) const noexcept {
    return known_.hops == 1 || a / known_.columns == b / known_.columns || a % known_.columns == b % known_.columns;
  }
  [[nodiscard]] int dock_of(std::uint16_t pe) const noexcept { return known_.dock_of[pe]; }

  /// The train's own head.
  std::string ends() const {
    if (head_.bytes > train_.capacity) {
      return "it has " + number(head_.bytes) + " bytes, a train carries " + number(train_.capacity);
    }
    if (head_.empty != 0) return "empty is " + number(head_.empty) + ", but goods follow";
    if (head_.from >= known_.docks || known_.rank_of[head_.from] != head_.rank) {
      return "from is worker " + number(head_.from) + ", which is not one of that rank";
    }
    if (head_.to >= known_.docks || known_.rank_of[head_.to] != known_.rank) {
      return "to is worker " + number(head_.to) + ", which is not one of this rank, " + count_of(known_.rank);
    }
    return {};
  }

  /// In the order in which the fields are needed; the check comes last, for it can only say that something is wrong.
  std::string batch(const std::byte* goods, std::size_t room) {
    if (run_.handler >= wire::handler_table::size()) {
      return "handler " + number(run_.handler) + ", but the program has " + number(wire::handler_table::size());
    }
    how_ = &wire::handler_table::at(run_.handler);
    if (run_.bytes > room) return "bytes are " + number(run_.bytes) + ", but " + number(room) + " follow in the train";
    const std::string handler = "handler " + std::string(how_->name());
    if (run_.mailbox != how_->mailbox()) {
      return "mailbox " + number(run_.mailbox) + ", but " + handler + " has " + number(how_->mailbox());
    }
    const bool of_docks = run_.mailbox == control;
    if (of_docks != (run_.group == 0)) return "selector " + number(run_.group) + " of " + handler;
    if (of_docks != (head_.channel == 2)) return handler + " on channel " + number(head_.channel);
    if (!flags_fit()) return "flags " + number(run_.flags) + " of " + handler;
    if (run_.count == 0) return "count is 0";
    if (!of_docks) {
      if (auto wrong = head_stops(); !wrong.empty()) return wrong;
      if (!one_hop(head_.from, head_.to)) {
        return "workers " + number(head_.from) + " and " + number(head_.to) + " are two hops apart";
      }
    }
    auto wrong = (run_.flags & wire::varying) != 0 ? spans(goods) : strides(goods);
    if (const auto sum = wire::head_check(run_, head_.from, head_.to); wrong.empty() && run_.check != sum) {
      wrong = "check is " + number(run_.check) + ", the head adds up to " + number(sum);
    }
    return wrong;
  }

  /// What open_run() makes of the handler's flags; never `spent`.
  [[nodiscard]] bool flags_fit() const noexcept {
    unsigned base = how_->flags();
    if (run_.mailbox == control) return run_.flags == base;
    if (!known_.plain && (base & wire::untagged) == 0) base |= wire::tagged;
    if (known_.hops == 1) return run_.flags == base;
    if ((base & wire::untagged) != 0) return false;  // shelves are for trains that go straight
    return run_.flags == (base | wire::mixed) || run_.flags == ((base & ~unsigned{wire::asks}) | wire::forwarded);
  }

  /// The PEs that the head names, where goods do not.
  std::string head_stops() const {
    if (run_.from >= known_.pes) return "from is PE " + number(run_.from) + ", but the job has " + count_of(known_.pes);
    if (!known_.plain) return {};
    if (dock_of(run_.from) != head_.from) {
      return "from is PE " + number(run_.from) + ", which is not of worker " + number(head_.from);
    }
    if (run_.to >= known_.pes || dock_of(run_.to) != head_.to) {
      return "to is PE " + number(run_.to) + ", which is not of worker " + number(head_.to);
    }
    return {};
  }

  [[nodiscard]] bool fits(wire::stop at) const noexcept {
    if (at.to >= known_.pes || at.from >= known_.pes) return false;
    const int there = dock_of(at.to);
    return there == head_.to || ((run_.flags & wire::mixed) != 0 && one_hop(head_.to, there));
  }
  std::string stop_fault(std::size_t which, wire::stop at) const {
    return "good " + number(which) + " is from PE " + number(at.from) + " for PE " + number(at.to) + ", which worker " +
           number(head_.to) + " neither has nor passes on to";
  }

  std::string strides(const std::byte* goods) const {
    const bool says_stops = (run_.flags & wire::tagged) != 0;
    const std::size_t stride = says_stops ? how_->lie().tagged : how_->lie().plain;
    if (run_.stride != stride) {
      return "stride is " + number(run_.stride) + ", goods of handler " + std::string(how_->name()) + " have " +
             number(stride);
    }
    if (std::uint64_t{run_.count} * stride != run_.bytes) {
      return "count is " + number(run_.count) + " goods of " + number(stride) + " bytes, bytes are " +
             number(run_.bytes);
    }
    if (!says_stops) return {};
    for (std::size_t i = 0; i < run_.count; ++i) {
      wire::stop at;
      std::memcpy(&at, goods + i * stride, sizeof at);
      if (!fits(at)) [[unlikely]]
        return stop_fault(i, at);
    }
    return {};
  }

  std::string spans(const std::byte* goods) const {
    if (run_.stride != 0) return "stride is " + number(run_.stride) + ", but goods say their lengths";
    const std::size_t least = how_->lie().least;
    std::size_t count = 0;
    for (std::size_t at = 0; at < run_.bytes; ++count) {
      wire::span_head good;
      const std::size_t left = run_.bytes - at;
      if (left < sizeof good) return "good " + number(count) + " has no room for its head";
      std::memcpy(&good, goods + at, sizeof good);
      const std::size_t whole = wire::round_up(sizeof good + std::size_t{good.bytes}, wire::span_alignment);
      if (whole > left || good.bytes < least) {
        return "good " + number(count) + " has " + number(good.bytes) + " bytes; at least " + number(least) +
               " are captures, and " + number(left - sizeof good) + " follow in the batch";
      }
      if (run_.mailbox == control) {
        const auto check = control_check({goods + at + sizeof good, least});
        if (check.to != good.at.to || check.from != good.at.from) {
          return std::string(how_->name()) + ": its check does not fit";
        }
      } else if (!fits(good.at)) {
        return stop_fault(count, good.at);
      }
      at += whole;
    }
    if (count != run_.count) return "count is " + number(run_.count) + ", but " + number(count) + " goods follow";
    return {};
  }

  const facts& known_;
  const rail::train& train_;
  const rail::train_head& head_;
  wire::run_head run_;
  const wire::handler* how_ = nullptr;
};

std::string validator::fault_of(const rail::train& t) const { return reader(known_, t).read(); }

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
