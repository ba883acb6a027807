/// Functions' names by address, for messages to people.
#pragma once

#include <memory>
#include <string>

namespace shunt {
inline namespace v1 {

/// Reads each program file that it is asked about once, and keeps its table. One thread at a time.
class symbols {
 public:
  symbols();
  ~symbols();
  symbols(const symbols&) = delete;
  symbols& operator=(const symbols&) = delete;

  /// \param return_address  looked up at one byte less, so that a call at the end of a function is its.
  /// \return "function(int)" as far as the file tells, else "program+0x1234"; "0x1234" for no file's.
  /// \throws std::bad_alloc
  [[nodiscard]] std::string name(const void* return_address);

 private:
  struct file;
  struct parts;
  std::unique_ptr<parts> parts_;
};

}  // namespace v1
}  // namespace shunt
