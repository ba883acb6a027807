/// Transpose in the class form.
#pragma once
#include <bale/kernel.hpp>
namespace shunt::apps::class_form {
struct transpose : pgas::actor<transpose, entry> {
  void process(entry e) { ++turned.offsets[e.row + 1], arrived.push_back(e); }
  /// Collective.
  matrix run(const matrix& a) {
    arrived.reserve(a.columns.size() + a.columns.size() / 16);
    for (std::uint32_t l = 0; l < a.count(); ++l)
      for (const auto column : a.row(l)) {
        const auto [pe, spot] = a.home.where(column);
        send(pe, {spot, a.home.global(l)});
      }
    finish();
    turned.place(arrived);
    return std::move(turned);
  }
  matrix turned;  // as high as the other is wide
  std::vector<entry> arrived{};
};
}  // namespace shunt::apps::class_form
