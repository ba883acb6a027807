/// Functions' names by address, for messages that people read.
#pragma once

#include <memory>
#include <string>

namespace shunt {
inline namespace v1 {

/// Reads the table of each program file once, when an address of it is looked up, and keeps it. One thread at a time.
class symbols {
 public:
  symbols();
  ~symbols();
  symbols(const symbols&) = delete;
  symbols& operator=(const symbols&) = delete;

  /// \param return_address  looked up at one byte less, since a call at the end of a function returns behind it
  /// \return "function(int)" if the file has the name, else "program+0x1234"; "0x1234" for an address of no file
  /// \throws std::bad_alloc
  [[nodiscard]] std::string name(const void* return_address);

 private:
  struct file;
  struct parts;
  std::unique_ptr<parts> parts_;
};

}  // namespace v1
}  // namespace shunt
