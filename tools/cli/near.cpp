#include <shunt/base/error.hpp>
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

const apps::app& find_app(std::string_view name) {
  std::vector<std::string_view> names;
  for (const auto& app : apps::all()) {
    if (app.name == name) return app;
    names.push_back(app.name);
  }
  throw usage_error(error_number(1108), "unknown application `" + std::string(name) + "`; " + near(name, names));
}

}  // namespace shunt::cli
