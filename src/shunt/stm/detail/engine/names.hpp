/// The names that stm::named has given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <shunt/stm/detail/engine/word.hpp>
#include <string>
#include <vector>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

class names {
 public:
  /// \throws std::bad_alloc, usage_error
  void add(const void* object, std::size_t bytes, std::string name);
  void remove(const void* object, std::size_t bytes) noexcept;

  /// The name of a variable; empty: it has none. \throws std::bad_alloc
  [[nodiscard]] std::string of(const void* variable);
  /// Up to three names of these variables: "`a`, `b` and others"; empty if none has a name. \throws std::bad_alloc
  [[nodiscard]] std::string of_some(const std::vector<const variable*>& some);

 private:
  struct object {
    std::uintptr_t begins;
    std::size_t bytes;
    /// Of two that begin at the same address the outer one comes first.
    friend bool operator<(const object& a, const object& b) noexcept {
      return a.begins != b.begins ? a.begins < b.begins : a.bytes > b.bytes;
    }
  };
  [[nodiscard]] const std::string* find(const void* variable) const;

  std::mutex lock_;  // guards what follows
  std::map<object, std::string> all_;
  std::size_t largest_ = 0;  // of all objects that have had a name
};

/// Never destroyed: tvars of static storage may have names.
[[nodiscard]] names& the_names();

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
