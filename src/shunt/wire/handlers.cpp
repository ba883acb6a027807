#include <shunt/wire/handlers.hpp>

#include <algorithm>
#include <mutex>
#include <vector>

#include <shunt/base/error.hpp>

namespace shunt {
inline namespace v1 {
namespace wire {
namespace {

// Entries arrive before main(), in an order between files that only the linker knows; function-local
// statics make the list usable whichever comes first.
struct registry {
  std::mutex guard;
  handler* first = nullptr;
  std::size_t entered = 0;
  std::vector<const handler*> numbered;
  std::uint64_t digest = 0;
};

registry& the_registry() {
  static registry r;
  return r;
}

}  // namespace

handler::handler(const std::type_info& type, std::string_view shown, unload_function function, std::uint8_t through,
                 std::uint8_t batch_flags, message_layout layout, std::string_view of, const handler* replies) noexcept
    : type_(&type),
      name_(shown),
      owner_(of),
      unload_(function),
      mailbox_(through),
      flags_(batch_flags),
      layout_(layout),
      replies_(replies) {
  auto& r = the_registry();
  const std::lock_guard lock(r.guard);
  next_ = r.first;
  r.first = this;
  ++r.entered;
}

void handler_table::number() {
  auto& r = the_registry();
  const std::lock_guard lock(r.guard);
  if (r.numbered.size() == r.entered) return;
  if (r.entered > 65'535) throw error(error_number(819), "more than 65,535 kinds of handlers in one program");
  std::vector<handler*> all;
  for (handler* h = r.first; h != nullptr; h = h->next_) all.push_back(h);
  // Stable: two local types of equal names keep the linker's order, which is the same in every process of
  // one program.
  std::stable_sort(all.begin(), all.end(), [](const handler* a, const handler* b) {
    return std::string_view(a->type_->name()) < std::string_view(b->type_->name());
  });
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i]->key_bits_ = std::uint64_t{1} << 63 | std::uint64_t{i} << 32;
    for (const char c : std::string_view(all[i]->type_->name())) {
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    }
    hash = (hash ^ 0xffu) * 0x100000001b3u;
  }
  r.numbered.assign(all.begin(), all.end());
  r.digest = hash;
}

const handler& handler_table::at(std::uint16_t id) noexcept { return *the_registry().numbered[id]; }
std::size_t handler_table::size() noexcept { return the_registry().numbered.size(); }
std::uint64_t handler_table::digest() noexcept { return the_registry().digest; }

}  // namespace wire
}  // namespace v1
}  // namespace shunt
