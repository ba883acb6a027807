#include <shunt/pgas/detail/selector_state.hpp>

#include <algorithm>
#include <utility>

#include <shunt/base/error.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {
namespace {

std::uint32_t digest_of(std::size_t mailboxes, std::string_view name, std::span<const std::uint64_t> feeders) noexcept {
  auto hash = 0x811c9dc5u ^ static_cast<std::uint32_t>(mailboxes);  // FNV-1a
  for (const std::byte b : std::as_bytes(feeders)) hash = (hash ^ std::to_integer<std::uint32_t>(b)) * 0x01000193u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x01000193u;
  return hash;
}

}  // namespace

bool selector_state::holds(int local_pe, std::span<const std::byte> bytes) const {
  const auto local = static_cast<std::size_t>(local_pe);
  return !bytes.empty() && local < parts_of_pes.size() &&
         std::any_of(
             parts_of_pes[local].begin(), parts_of_pes[local].end(),
             [&](const part_of_pe& p) { return p.holds(address(bytes.data())); });
}

auto selector_table::construct(std::uint16_t id, std::size_t mailboxes, std::string_view name,
                               std::span<const std::uint64_t> feeders) -> construction {
  if (selectors_.size() <= id) selectors_.resize(id + std::size_t{1});
  auto& place = selectors_[id];
  const bool first = place == nullptr;
  if (first) {
    place = std::make_unique<selector_state>();
    place->id = id;
    place->name = name;
    place->digest = digest_of(mailboxes, name, feeders);
    place->parts.resize(static_cast<std::size_t>(pes_here_));
    place->mailboxes.resize(mailboxes);
    for (std::size_t i = 0; i < mailboxes; ++i) {
      auto& m = place->mailboxes[i];
      for (auto& hop : m.sent) hop.resize(static_cast<std::size_t>(workers_));
      m.feeders = !feeders.empty() ? feeders[i] : i == 0 ? 0 : std::uint64_t{1} << (i - 1);
    }
  } else if (place->digest != digest_of(mailboxes, name, feeders)) {
    throw error(error_number(924), disagreement_about(*place, name));
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
  s.end_messages_of(pe - first_pe_);
  if (!s.parts_of_pes.empty()) s.parts_of(pe - first_pe_).clear();
  return --s.present == 0;
}

void selector_table::drop(std::uint16_t id) {
  auto& place = selectors_[id];
  if (place->end && place->end->driven) dropped_.push_back(std::move(place));
  place.reset();
}

void selector_table::part_ready(selector_state& s, int pe, void* part) {
  s.parts[static_cast<std::size_t>(pe - first_pe_)] = part;
  if (++s.ready == pes_here_) retry_deferred();
}

bool selector_table::is_part_of(int pe, std::uintptr_t where) const noexcept {
  const auto local = static_cast<std::size_t>(pe - first_pe_);
  const auto within = [where](const part_of_pe& p) { return p.holds(where); };
  return std::any_of(selectors_.begin(), selectors_.end(), [&](const auto& s) {
    return s != nullptr && local < s->parts_of_pes.size() &&
           std::any_of(s->parts_of_pes[local].begin(), s->parts_of_pes[local].end(), within);
  });
}

void selector_table::note_none_of(const wire::handler& waits_itself) {
  if (wait_themselves_.size() <= waits_itself.id()) wait_themselves_.resize(waits_itself.id() + std::size_t{1});
  wait_themselves_[waits_itself.id()] = true;
}

void selector_table::note_message(int pe, batch_key key, const std::source_location& where) {
  selector_state* const s = find(selector_id_of(key));
  const auto local = static_cast<std::size_t>(pe - first_pe_);
  const wire::handler& handler = entry_of(key);
  if (s == nullptr || local >= s->parts.size()) return;
  if (handler.id() < wait_themselves_.size() && wait_themselves_[handler.id()]) return;
  s->under_way.resize(s->parts.size());
  auto& last = s->under_way[local];
  last = {&handler, where, false, last.read_by};  // a collective amid earlier messages was amid these, too
}

void selector_table::end_messages(selector_state& s, int pe) noexcept {
  const auto local = static_cast<std::size_t>(pe - first_pe_);
  for (const auto& other : selectors_) {
    if (other != nullptr && local < other->under_way.size()) other->under_way[local].others_ended = true;
  }
  s.end_messages_of(pe - first_pe_);
}

const selector_state* selector_table::read_by(const char* call, int pe, std::span<const std::byte> operand) {
  const auto local = static_cast<std::size_t>(pe - first_pe_);
  for (const auto& s : selectors_) {
    if (s == nullptr || local >= s->under_way.size() || s->under_way[local].handler == nullptr) continue;
    if (s->holds(pe - first_pe_, operand)) return s.get();
    if (!s->under_way[local].others_ended) s->under_way[local].read_by = call;
  }
  return nullptr;
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

std::int64_t selector_table::under_way() const noexcept {
  std::int64_t sum = 0;
  for (const auto& s : selectors_) {
    if (s != nullptr) sum += static_cast<std::int64_t>(s->sent - s->handled);
  }
  return sum;
}

void selector_table::notify_all() {
  for (const auto& s : selectors_) {
    if (s != nullptr) s->changed.notify_all();
  }
}

std::string selector_table::disagreement_about(const selector_state& s, std::string_view other) {
  return "PEs disagree: one constructs " + (other.empty() ? "another selector" : std::string(other)) +
         " where another constructed " + std::string(s.name) +
         "; every PE must construct the same selectors in the same order, with the same mailbox_order";
}

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
