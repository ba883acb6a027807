/// Pieces of a file that become other text, and may lie in each other: a send inside of a handler that moves.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "class_text.hpp"
#include "edits.hpp"

namespace shunt::translate::class_form {

class pieces {
 public:
  explicit pieces(const source& s) : s_(&s) {}

  /// The letters of a range become what `by` says, which may ask text() for smaller ranges inside.
  void replace(byte_range where, std::function<std::string()> by);
  /// The letters of a range, with all pieces in it replaced.
  [[nodiscard]] std::string text(byte_range where) const;
  /// All changes, the outermost pieces only.
  [[nodiscard]] std::vector<std::pair<byte_range, std::string>> changes() const;

 private:
  struct piece {
    byte_range where;
    std::function<std::string()> by;
  };
  [[nodiscard]] std::vector<const piece*> outermost(byte_range where) const;

  const source* s_;
  std::vector<piece> all_;
};

}  // namespace shunt::translate::class_form
