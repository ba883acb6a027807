/// What a command of shunt-translate says of a place in a file.
#pragma once

#include <string>

namespace shunt::translate {

/// A place, and a sentence about it.
struct finding {
  std::string file;
  unsigned line = 0, column = 0;
  std::string text;  ///< a sentence without a full stop: what stands there, why it is wrong, what to do
};

}  // namespace shunt::translate
