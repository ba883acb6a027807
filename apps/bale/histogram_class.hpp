/// Histogram in the class form: the actor is a class that holds its PE's counts.
#pragma once
#include <bale/kernel.hpp>
namespace shunt::apps::class_form {
struct histogram : pgas::actor<histogram, std::uint32_t> {
  void process(std::uint32_t spot) { ++counts[spot]; }
  void run(std::span<const place> updates) {
    for (const auto [pe, spot] : updates) send(pe, spot);
    finish();
  }
  std::vector<std::int64_t>& counts;
};
}  // namespace shunt::apps::class_form
