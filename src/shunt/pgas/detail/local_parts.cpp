#include <shunt/pgas/detail/local_parts.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

constinit thread_local local_parts::of_this_thread local_parts::here{};

std::uint32_t local_parts::add(int pe, void* object, const void* type) {
  constexpr std::size_t first_room = 4;
  std::size_t number = 0;
  while (number < per_pe_ && at(pe, number).object != nullptr) ++number;
  if (number == per_pe_) {
    const std::size_t room = std::max(first_room, 2 * per_pe_);
    if (room > most)
      throw error(error_number(909), "a PE has more than " + std::to_string(per_pe_) + " symmetric objects");
    std::vector<part> more(room * pes_here_);
    for (std::size_t i = 0; i < parts_.size(); ++i) more[i / per_pe_ * room + i % per_pe_] = parts_[i];
    parts_ = std::move(more);
    per_pe_ = room;
    here.parts = parts_.data();
    here.per_pe = per_pe_;
  }
  part& p = at(pe, number);
  const auto name = static_cast<std::uint32_t>(number) | p.generation << generation_at;
  p = {object, mark(type, name), p.generation + 1};
  return name;
}

void local_parts::remove(int pe, std::uint32_t name) noexcept {
  part& p = at(pe, name & (most - 1));
  p.object = nullptr;
  p.of = 0;
}

void local_parts::refuse_outside(std::string_view type_name) {
  throw usage_error(
      error_number(910),
      "a local_part of " + std::string(type_name) +
          " is used outside a handler: it means the part of the PE on which a handler runs; in the program "
          "use the symmetric object itself");
}

void local_parts::refuse_missing(std::string_view type_name) const {
  const auto pe = handlers_.pe();
  throw usage_error(error_number(911),
                    "PE " + std::to_string(pe) + ": handler " + std::string(handlers_.entry()->name()) +
                        " uses a local_part of " + std::string(type_name) +
                        ", but this PE has no such symmetric object: every PE constructs and destroys them in the "
                        "same order, before the actor whose messages name them and after it",
                    {.pe = pe});
}

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
