#include "graph/teps.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace shunt::apps {

quartiles quartiles::of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  // Between neighbours, as far as the quarter's place lies between them.
  const auto at = [&values](double part) {
    const double place = part * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const auto above = std::min(below + 1, values.size() - 1);
    return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
  };
  return {values.front(), at(0.25), at(0.5), at(0.75), values.back()};
}

harmonic harmonic::of(const std::vector<double>& rates) {
  const auto n = static_cast<double>(rates.size());
  double sum = 0;
  for (const double rate : rates) sum += 1 / rate;
  harmonic made{n / sum, 0};
  if (rates.size() < 2) return made;
  double squares = 0;
  for (const double rate : rates) squares += (1 / rate - sum / n) * (1 / rate - sum / n);
  made.standard_error = std::sqrt(squares) / (n - 1) * made.mean * made.mean;
  return made;
}

std::vector<fact> search_facts(const std::vector<double>& seconds, const std::vector<double>& edges) {
  std::vector<double> rates;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    if (edges[i] > 0) rates.push_back(edges[i] / seconds[i]);
  }
  const auto all = [](const quartiles& q) {
    return json_value::object{
        {"min", q.least}, {"quartile_1", q.first}, {"median", q.median}, {"quartile_3", q.third}, {"max", q.most}};
  };
  const auto time = quartiles::of(seconds);
  std::vector<fact> facts{{"search_seconds", all(time),
                           fmt::format("{:.6f} to {:.6f}, median {:.6f}", time.least, time.most, time.median)}};
  if (rates.empty()) return facts;
  const auto rate = quartiles::of(rates);
  const auto mean = harmonic::of(rates);
  facts.push_back(
      {"teps", all(rate),
       fmt::format("{} to {}, median {}", with_unit(rate.least), with_unit(rate.most), with_unit(rate.median))});
  facts.push_back({"harmonic_mean_teps", mean.mean, with_unit(mean.mean)});
  facts.push_back({"harmonic_standard_error", mean.standard_error, with_unit(mean.standard_error)});
  return facts;
}

}  // namespace shunt::apps
