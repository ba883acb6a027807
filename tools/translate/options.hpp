/// What the compiler is told about a file.
#pragma once

#include <string>
#include <vector>

namespace shunt::translate {

/// Flags for reading a file, and what a translation may do.
struct compile_options {
  std::vector<std::string> arguments;  ///< behind `--`: they replace all others
  std::string build_folder;            ///< has a compile_commands.json; "": the nearest one above the file, if any
  bool reorder = false;                ///< loops: floating-point numbers may be added in another order
  std::string out_folder;              ///< proxies: where the header will lie; "": beside the file
};

}  // namespace shunt::translate
