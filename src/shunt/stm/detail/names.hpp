/// What stm::named has said.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <shunt/stm/detail/word.hpp>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

class names {
 public:
  /// \throws std::bad_alloc, usage_error
  void add(const void* object, std::size_t bytes, std::string name);
  void remove(const void* object, std::size_t bytes) noexcept;

  /// Empty: none. \throws std::bad_alloc
  [[nodiscard]] std::string of(const void* variable);
  /// "`a`, `b` and others": of a few of those that have names; empty if none has. \throws std::bad_alloc
  [[nodiscard]] std::string of_some(const std::vector<const variable*>& some);

 private:
  struct object {
    std::uintptr_t begins;
    std::size_t bytes;
    /// Of two that begin alike, the outer one first.
    friend bool operator<(const object& a, const object& b) noexcept {
      return a.begins != b.begins ? a.begins < b.begins : a.bytes > b.bytes;
    }
  };
  [[nodiscard]] const std::string* find(const void* variable) const;

  std::mutex lock_;  // guards what follows
  std::map<object, std::string> all_;
  std::size_t largest_ = 0;  // of all that there ever were
};

/// Never destroyed: tvars of static storage may have names.
[[nodiscard]] names& the_names();

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
