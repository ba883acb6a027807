/// Facts that an application reports.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace shunt::apps {

/// A value for programs, as JSON has it; report.cpp makes JSON of it. (The JSON library's header takes longer to
/// compile than an application.)
class json_value {
 public:
  using array = std::vector<json_value>;
  using object = std::vector<std::pair<std::string, json_value>>;  ///< in this order

  template <std::same_as<bool> B>
  json_value(B value) : is_(value) {}
  template <std::integral I>
    requires(!std::same_as<I, bool>)
  json_value(I value) : is_(number(value)) {}
  json_value(double value) : is_(value) {}
  json_value(const char* text) : is_(std::string(text)) {}
  json_value(std::string text) : is_(std::move(text)) {}
  json_value(array values) : is_(std::move(values)) {}
  json_value(object members) : is_(std::move(members)) {}

  using any = std::variant<bool, std::int64_t, std::uint64_t, double, std::string, array, object>;
  [[nodiscard]] const any& is() const noexcept { return is_; }

 private:
  template <std::integral I>
  static any number(I value) {
    if constexpr (std::signed_integral<I>) {
      return static_cast<std::int64_t>(value);
    } else {
      return static_cast<std::uint64_t>(value);
    }
  }

  any is_;
};

/// One fact of the report: as "label  text" for people, as "key": value for programs.
struct fact {
  std::string key;
  json_value value;
  std::string text;
};

}  // namespace shunt::apps
