#include <algorithm>
#include <numeric>

#include "cli.hpp"

namespace shunt::cli {
namespace {

// Edits (insert, delete, replace) that turn one word into the other.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string near(std::string_view word, std::span<const std::string_view> known) {
  std::string close;
  std::string all;
  for (const auto name : known) {
    all += (all.empty() ? "" : " ") + std::string(name);
    if ((!word.empty() && name.starts_with(word)) || distance(word, name) <= (name.size() + 2) / 3) {
      close += (close.empty() ? "" : " ") + std::string(name);
    }
  }
  return close.empty() ? "known: " + all : "near: " + close;
}

}  // namespace shunt::cli
