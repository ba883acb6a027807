/// Triangles, a message a non-zero, in the class form.
#pragma once
#include <bale/kernel.hpp>
namespace shunt::apps::class_form {
struct triangle_by_row : pgas::actor<triangle_by_row, pgas::varying<vertex>> {
  void process(std::span<const vertex> sought) {  // row, columns
    result.asked += sought.size() - 1, result.found += lower.has_of(sought.front(), sought.subspan(1));
  }
  /// Collective. \param each_row  called with the number of rows done.
  template <class EachRow>
  tally run(pgas::pe& me, EachRow each_row) {
    for (std::uint32_t l = 0; l < lower.count(); each_row(++l)) {
      const auto row = lower.row(l);
      for (std::size_t at = 1; at < row.size(); ++at) {
        in_pieces(row.first(at), most_items(me, 4) - 1, [&](std::uint32_t, std::span<const vertex> piece) {
          send(lower.owner(row[at]), {lower.local(row[at])}, piece);
        });
      }
    }
    finish();
    return result;
  }
  const rows& lower;
  tally result{};
};
}  // namespace shunt::apps::class_form
