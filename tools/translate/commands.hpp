/// The commands of shunt-translate. Each looks at one file that compiles, and says what it found; those that translate
/// also say what the file should become.
#pragma once

#include <string>
#include <vector>

#include "finding.hpp"

namespace shunt::translate {

struct compile_options;

/// What a command has to say of a file.
struct outcome {
  std::vector<finding> findings;  ///< check: mistakes; the others: what they refuse to translate, and why
  std::string before, after;      ///< the file's text, and what it becomes; equal where nothing changes
  std::string name_after{};       ///< the file that `after` is written to; "": the same one
};

/// Mistakes that the compiler cannot refuse: see check.cpp.
[[nodiscard]] outcome check(const std::string& file, const compile_options& options);
/// Natural loops become supersteps and gathers: see loops.cpp.
[[nodiscard]] outcome loops(const std::string& file, const compile_options& options);
/// Messages as lambdas become classes: see class_form.cpp.
[[nodiscard]] outcome to_classes(const std::string& file, const compile_options& options);
/// Proxies of a header's interfaces: `after` is a header of its own. See proxies.cpp.
[[nodiscard]] outcome proxies(const std::string& file, const compile_options& options);

}  // namespace shunt::translate
