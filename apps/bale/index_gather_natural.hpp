/// index_gather, as one writes it.
#pragma once

#include <cstdint>
#include <shunt/pgas.hpp>
#include <span>

namespace shunt::apps::natural {

/// Collective. target[k] = table[indices[k]]
inline void index_gather(pgas::array<std::int64_t>& table, std::span<const std::uint64_t> indices,
                         std::span<std::int64_t> target) {
  pgas::gather(table, indices, target);
}

}  // namespace shunt::apps::natural
