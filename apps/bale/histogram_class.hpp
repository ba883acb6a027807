/// Histogram in the class form: the actor is a class that holds its PE's counts.
#pragma once
#include <bale/place.hpp>
#include <shunt/pgas.hpp>
namespace shunt::apps::class_form {
struct histogram : pgas::actor<histogram, std::uint32_t> {
  histogram(pgas::pe& me, std::vector<std::int64_t>& part) : actor(me), counts(part) {}
  void process(std::uint32_t spot) { ++counts[spot]; }
  void run(std::span<const place> updates) {
    for (const auto [pe, spot] : updates) send(pe, spot);
    finish();
  }
  std::vector<std::int64_t>& counts;
};
}  // namespace shunt::apps::class_form
