/// Histogram: every PE counts up random spots of a distributed table. Published as "histogram" of bale.
#pragma once
#include <bale/kernel.hpp>
namespace shunt::apps::lambda_form {
inline void histogram(pgas::symmetric<std::vector<std::int64_t>>& table, std::span<const place> updates) {
  pgas::actor_of counter(table);
  for (const auto [pe, spot] : updates) counter.send(pe, [spot](auto& counts) { ++counts[spot]; });
  counter.finish();
}
}  // namespace shunt::apps::lambda_form
