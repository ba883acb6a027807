#include <shunt/pgas/detail/tree_gather.hpp>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include <shunt/base/error.hpp>
#include <shunt/pgas/detail/refusals.hpp>
#include <shunt/pgas/detail/validation.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

/// Of the tree below this worker: index + 1, + 2, + 4 ... below index + reach() are its children.
int tree_gather::reach() const noexcept { return facts_.index == 0 ? facts_.workers : facts_.index & -facts_.index; }

bool tree_gather::is_child(int worker) const noexcept {
  const int distance = worker - facts_.index;
  return distance > 0 && distance < reach() && (distance & (distance - 1)) == 0 && worker < facts_.workers;
}

tree_gather::partial& tree_gather::partial_of(const gather_piece& head) {
  const bool down = head.down != 0;
  const auto known = std::find_if(partials_.begin(), partials_.end(), [&](const partial& q) {
    return q.sequence == head.sequence && q.from == head.from && q.down == down;
  });
  if (known != partials_.end()) return *known;
  return partials_.emplace_back(partial{head.sequence, head.from, down, head.total, {}, {}});
}

void tree_gather::piece_arrived(const gather_piece& head, std::span<const std::byte> bytes) {
  const auto refuse = [&] {
    throw damage{"collective: bytes " + std::to_string(head.offset) + " and " + std::to_string(bytes.size()) +
                 " following of " + std::to_string(head.total) + " of worker " + std::to_string(head.from) +
                 " in gather " + std::to_string(head.sequence) + ", while gather " + std::to_string(sequence_) +
                 " is the last"};
  };
  const std::uint32_t ahead = head.sequence - sequence_;
  const bool possible =
      head.down != 0 ? facts_.index != 0 && head.from == parent() && ahead == 0 : is_child(head.from) && ahead <= 1;
  if (!possible) refuse();
  if (std::uint64_t{head.offset} + bytes.size() > head.total || (bytes.empty() && head.total != 0)) refuse();
  partial& p = partial_of(head);
  if (p.total != head.total || head.offset < p.bytes.size()) refuse();
  if (head.offset > p.bytes.size()) {
    if (!p.early.emplace(head.offset, std::vector<std::byte>(bytes.begin(), bytes.end())).second) refuse();
    return;
  }
  p.bytes.insert(p.bytes.end(), bytes.begin(), bytes.end());
  while (!p.early.empty() && p.early.begin()->first <= p.bytes.size()) {
    if (p.early.begin()->first < p.bytes.size()) refuse();
    const auto next = p.early.extract(p.early.begin());
    p.bytes.insert(p.bytes.end(), next.mapped().begin(), next.mapped().end());
  }
}

void tree_gather::send(int to, bool down, std::span<const std::byte> bytes, const collective_call& call) {
  const std::size_t most =
      (out_.pool().capacity() - sizeof(wire::batch_head) - sizeof(wire::span_head) - sizeof(gather_piece)) /
      wire::span_alignment * wire::span_alignment;
  std::size_t offset = 0;
  if (bytes.size() > 0xffff'ffffu) {
    throw error(error_number(927),
                std::string(call.name()) + ": " + std::to_string(bytes.size()) +
                    " bytes in all, at most 4,294,967,295 can be gathered; it is for facts, not for bulk data");
  }
  do {
    const auto piece = bytes.subspan(offset, std::min(most, bytes.size() - offset));
    const gather_piece head{sequence_, static_cast<std::uint32_t>(bytes.size()), static_cast<std::uint32_t>(offset),
                            static_cast<std::uint16_t>(facts_.index), down};
    // Large results go out piece by piece: a piece waits until few trains are out.
    waits_.until(call.name().data(),
                 [this] { return out_.pool().out(1) + out_.pool().out(2) <= out_.pool().regular(); });
    out_.send_control(to, control_key<gather_piece>(), bytes_of(head), piece);
    offset += piece.size();
  } while (offset < bytes.size());
  out_.flush();
}

std::vector<std::byte> tree_gather::take(int from, bool down, const collective_call& call) {
  auto found = partials_.end();
  waits_.until(call.name().data(), [&] {
    found = std::find_if(partials_.begin(), partials_.end(), [&](const partial& q) {
      return q.sequence == sequence_ && q.from == from && q.down == down && q.bytes.size() == q.total;
    });
    return found != partials_.end();
  });
  auto bytes = std::move(found->bytes);
  partials_.erase(found);
  return bytes;
}

// A bundle is a sequence of (worker, which collective call and what was before it, length, bytes).
std::vector<contribution> tree_gather::gather(const contribution& mine) {
  ++sequence_;
  std::vector<std::byte> bundle;
  const auto put = [&bundle](std::uint64_t value) {
    const auto b = bytes_of(value);
    bundle.insert(bundle.end(), b.begin(), b.end());
  };
  put(static_cast<std::uint64_t>(facts_.index));
  put(std::uint64_t{mine.past} << 32 | std::uint64_t{static_cast<std::uint8_t>(mine.call.is)} << 16 |
      mine.call.selector);
  put(mine.bytes.size());
  bundle.insert(bundle.end(), mine.bytes.begin(), mine.bytes.end());
  std::vector<int> children;
  for (int d = 1; d < reach() && facts_.index + d < facts_.workers; d *= 2) children.push_back(facts_.index + d);
  for (const int child : children) {
    const auto theirs = take(child, false, mine.call);
    bundle.insert(bundle.end(), theirs.begin(), theirs.end());
  }
  if (facts_.index != 0) {
    send(parent(), false, bundle, mine.call);
    bundle = take(parent(), true, mine.call);
  }
  for (const int child : children) send(child, true, bundle, mine.call);
  return unbundle(bundle, mine.call);
}

std::vector<contribution> tree_gather::unbundle(std::span<const std::byte> bundle, const collective_call& call) const {
  const auto refuse = [&call](const std::string& what) { refuse_collected(call.name(), what); };
  std::vector<contribution> all(static_cast<std::size_t>(facts_.workers));
  int parts = 0;
  for (std::size_t p = 0; p < bundle.size(); ++parts) {
    std::uint64_t head[3];
    if (bundle.size() - p < sizeof head) refuse("it ends amid a head");
    std::memcpy(head, bundle.data() + p, sizeof head);
    p += sizeof head;
    if (head[0] >= all.size()) refuse("a part is of worker " + std::to_string(head[0]));
    if (head[2] > bundle.size() - p) refuse("a part has " + std::to_string(head[2]) + " bytes");
    const std::uint64_t kind = head[1] >> 16 & 0xffff;
    if (kind > static_cast<std::uint64_t>(collective_call::last_kind)) {
      refuse("a part is of call " + std::to_string(kind));
    }
    auto& one = all[head[0]];
    one.call = {static_cast<collective_call::kind>(kind), static_cast<std::uint16_t>(head[1])};
    one.past = static_cast<std::uint32_t>(head[1] >> 32);
    const auto* first = bundle.data() + p;
    one.bytes.assign(first, first + head[2]);
    p += head[2];
  }
  if (parts != facts_.workers) {
    refuse("it has the parts of " + std::to_string(parts) + " workers, not of " + std::to_string(facts_.workers));
  }
  return all;
}

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
