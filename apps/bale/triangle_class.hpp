/// Triangles in the class form.
#pragma once
#include <bale/kernel.hpp>
namespace shunt::apps::class_form {
struct wedge {
  std::uint32_t local;
  vertex k;
};
struct triangle : pgas::actor<triangle, wedge> {
  void process(wedge w) { ++result.asked, result.found += lower.has(w.local, w.k); }
  /// Collective. \param each_row  called with the number of rows done.
  template <class EachRow>
  tally run(EachRow each_row) {
    for (std::uint32_t l = 0; l < lower.count(); each_row(++l)) {
      const auto row = lower.row(l);
      for (auto j = row.begin(); j != row.end(); ++j) {
        const auto owner = lower.owner(*j);
        const auto local = lower.local(*j);
        for (auto k = row.begin(); k != j; ++k) send(owner, {local, *k});
      }
    }
    finish();
    return result;
  }
  const rows& lower;
  tally result{};
};
}  // namespace shunt::apps::class_form
