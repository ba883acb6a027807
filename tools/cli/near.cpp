#include <shunt/base/spelling.hpp>

#include "cli.hpp"

namespace shunt::cli {
std::string near(std::string_view word, std::span<const std::string_view> known) {
  std::string close;
  std::string all;
  for (const auto name : known) {
    all += (all.empty() ? "" : " ") + std::string(name);
    if ((!word.empty() && name.starts_with(word)) || edit_distance(word, name) <= (name.size() + 2) / 3) {
      close += (close.empty() ? "" : " ") + std::string(name);
    }
  }
  return close.empty() ? "known: " + all : "near: " + close;
}

}  // namespace shunt::cli
