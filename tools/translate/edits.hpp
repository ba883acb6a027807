/// Changes of one file's text, by byte offsets.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace shunt::translate {

/// The changes that a command wants to make. No two of them overlap; what is inserted at one place stays in order.
class edits {
 public:
  /// The bytes [begin, end) become `text`.
  void replace(std::size_t begin, std::size_t end, std::string text);
  /// `text` comes before the byte `at`.
  void insert(std::size_t at, std::string text) { replace(at, at, std::move(text)); }

  /// All changes of another set.
  void add(const edits& other) { all_.insert(all_.end(), other.all_.begin(), other.all_.end()); }

  /// Of another set, the changes that lie in nothing which is replaced already.
  void add_outside(const edits& other);

  [[nodiscard]] bool empty() const noexcept { return all_.empty(); }
  /// \return `original` with all changes. \throws std::logic_error if two overlap
  [[nodiscard]] std::string apply(const std::string& original) const;

 private:
  struct change {
    std::size_t begin, end;
    std::string text;
  };
  std::vector<change> all_;
};

/// The difference of two texts as `diff -u` writes it; empty for equal ones.
/// \param name  of the file \param new_name  of the file with the changes
[[nodiscard]] std::string unified_diff(const std::string& name, const std::string& new_name, const std::string& before,
                                       const std::string& after);

}  // namespace shunt::translate
