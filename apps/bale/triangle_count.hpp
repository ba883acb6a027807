/// Triangles by either kind of message, and the rule that chooses between them.
///
///   wedge   a message for every pair of columns j, k < j of a row: is k in row j?        the published program
///   row     a message for every column j of a row, with all columns k < j of that row: how many are in row j?
///
/// Both ask the same. A message of kind row costs more than one of kind wedge, and each further column in it costs
/// less, so it pays where it carries several.
#pragma once

#include <bale/form.hpp>
#include <bale/triangle_class.hpp>
#include <bale/triangle_lambda.hpp>
#include <bale/triangle_natural.hpp>
#include <bale/triangle_row_class.hpp>
#include <bale/triangle_row_lambda.hpp>
#include <bale/triangle_row_natural.hpp>

namespace shunt::apps {

enum class ask_by : std::uint8_t { wedge, row };

/// Where both kinds take equally long, by measurement on two PEs: between 4 and 6 columns a message.
inline constexpr std::uint64_t columns_that_pay = 5;

/// Collective. Which kind takes less time, by what is known before the start: wedges, and columns that have others of
/// their row below them.
[[nodiscard]] inline ask_by better_for(pgas::pe& me, const rows& lower) {
  std::uint64_t wedges = 0, columns = 0;
  for (std::uint32_t l = 0; l < lower.count(); ++l) {
    const std::uint64_t n = lower.row(l).size();
    if (n > 1) wedges += n * (n - 1) / 2, columns += n - 1;
  }
  return me.sum(wedges) >= columns_that_pay * me.sum(columns) ? ask_by::row : ask_by::wedge;
}

/// Collective. \param each_row  called with the number of rows done. \return what this PE was asked and found.
template <class EachRow>
[[nodiscard]] tally count_triangles(pgas::pe& me, pgas::symmetric<rows>& lower, form which, ask_by how,
                                    EachRow each_row) {
  if (which == form::natural) {
    return how == ask_by::row ? natural::triangle_by_row(me, *lower, each_row)
                              : natural::triangle(me, *lower, each_row);
  }
  if (which == form::lambda) {
    return how == ask_by::row ? lambda_form::triangle_by_row(me, lower, each_row)
                              : lambda_form::triangle(me, lower, each_row);
  }
  return how == ask_by::row ? class_form::triangle_by_row{{me}, *lower}.run(me, each_row)
                            : class_form::triangle{{me}, *lower}.run(each_row);
}

}  // namespace shunt::apps
