/// Traversed edges a second, as Graph500 reports them.
#pragma once

#include <vector>

#include "report.hpp"

namespace shunt::apps {

struct quartiles {
  double least = 0, first = 0, median = 0, third = 0, most = 0;
  /// \param values  at least one
  [[nodiscard]] static quartiles of(std::vector<double> values);
};

/// Rates are averaged as Graph500 wants it: the harmonic mean, which is that of all edges over all time where each
/// search traverses as many edges.
struct harmonic {
  double mean = 0;
  double standard_error = 0;  ///< 0 for less than two rates
  /// Source: Norris: The standard errors of the geometric and harmonic means and their application to index numbers.
  /// Annals of Mathematical Statistics 11 (1940), doi:10.1214/aoms/1177731830.
  /// \param rates  at least one, above 0
  [[nodiscard]] static harmonic of(const std::vector<double>& rates);
};

/// \param seconds, edges  of each search
[[nodiscard]] std::vector<fact> search_facts(const std::vector<double>& seconds, const std::vector<double>& edges);

}  // namespace shunt::apps
