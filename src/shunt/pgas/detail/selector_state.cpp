#include <shunt/pgas/detail/selector_state.hpp>

#include <utility>

#include <shunt/base/error.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {
namespace {

std::uint32_t digest_of(std::size_t mailboxes, std::string_view name) noexcept {
  auto hash = 0x811c9dc5u ^ static_cast<std::uint32_t>(mailboxes);  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x01000193u;
  return hash;
}

}  // namespace

void selector_state::count_sent(const wire::batch_head& batch, int to_worker) noexcept {
  const bool second_hop = (batch.flags & wire::forwarded) != 0;
  const bool reply = (batch.flags & wire::replies) != 0;
  if (!second_hop) {
    sent += batch.count;
    if (!reply) started += batch.count;
    if ((batch.flags & wire::requests) != 0) unanswered += batch.count;
  }
  if (!reply) mailboxes[batch.mailbox].sent[second_hop ? 1 : 0][static_cast<std::size_t>(to_worker)] += batch.count;
}

void selector_state::count_unloaded(const wire::batch_head& batch, std::uint64_t handled_here) noexcept {
  handled += handled_here;
  if ((batch.flags & wire::replies) != 0) {
    unanswered -= handled_here;
  } else {
    mailboxes[batch.mailbox].arrived[(batch.flags & wire::forwarded) != 0 ? 1 : 0] += batch.count;
  }
}

auto selector_table::construct(std::uint16_t id, std::size_t mailboxes, std::string_view name) -> construction {
  if (selectors_.size() <= id) selectors_.resize(id + std::size_t{1});
  auto& place = selectors_[id];
  const bool first = place == nullptr;
  if (first) {
    place = std::make_unique<selector_state>();
    place->id = id;
    place->name = name;
    place->digest = digest_of(mailboxes, name);
    place->parts.resize(static_cast<std::size_t>(pes_here_));
    place->mailboxes.resize(mailboxes);
    for (auto& m : place->mailboxes) {
      for (auto& hop : m.sent) hop.resize(static_cast<std::size_t>(workers_));
    }
  } else if (place->mailboxes.size() != mailboxes || place->name != name) {
    throw error(disagreement_about(*place, name));
  }
  ++place->present;
  ++place->built;
  return {*place, first};
}

bool selector_table::forget(std::uint16_t id, int pe) {
  selector_state& s = *selectors_[id];
  std::erase_if(under_construction_, [&](const unfinished_object& u) { return u.of == &s && u.pe == pe; });
  void*& part = s.parts[static_cast<std::size_t>(pe - first_pe_)];
  if (std::exchange(part, nullptr) != nullptr) --s.ready;
  return --s.present == 0;
}

void selector_table::part_ready(selector_state& s, int pe, void* part) {
  s.parts[static_cast<std::size_t>(pe - first_pe_)] = part;
  if (++s.ready == pes_here_) retry_deferred();
}

void selector_table::complete_objects_of(int pe) {
  for (std::size_t i = 0; i < under_construction_.size();) {
    const unfinished_object u = under_construction_[i];
    if (u.pe != pe) {
      ++i;
      continue;
    }
    under_construction_.erase(under_construction_.begin() + static_cast<std::ptrdiff_t>(i));
    part_ready(*u.of, u.pe, u.part);
  }
}

void selector_table::notify_all() {
  for (const auto& s : selectors_) {
    if (s != nullptr) s->complete.notify_all();
  }
}

std::string selector_table::disagreement_about(const selector_state& s, std::string_view other) {
  return "PEs disagree: one constructs " + (other.empty() ? "another selector" : std::string(other)) +
         " where another constructed " + std::string(s.name) +
         "; every PE must construct the same selectors in the same order";
}

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
