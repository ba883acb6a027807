/// gzip data become text, a member at a time. zlib does the work; a library that was built without zlib has no stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace shunt {
inline namespace v1 {
namespace graph {
namespace detail {

class gzip_stream {
 public:
  /// Whether the library was built with zlib. Without it the constructor throws std::logic_error.
  [[nodiscard]] static bool available() noexcept;

  /// \throws std::bad_alloc
  gzip_stream();
  gzip_stream(const gzip_stream&) = delete;
  gzip_stream& operator=(const gzip_stream&) = delete;
  ~gzip_stream();

  /// The bytes that follow begin a member.
  void begin_member() noexcept;

  enum class outcome : std::uint8_t {
    more,           ///< the member goes on, in this input or in the next one
    end_of_member,  ///< what is left of the input lies behind the member
    fault,          ///< the data are corrupt: fault() says how
  };
  struct step {
    std::size_t read = 0;     ///< bytes of the input that have been used
    std::size_t written = 0;  ///< bytes of text
    outcome is = outcome::more;
  };
  /// Inflates until the input or the room ends.
  /// \throws std::bad_alloc
  [[nodiscard]] step inflate(const char* input, std::size_t input_bytes, char* to, std::size_t room);
  /// After outcome::fault: what is wrong, in a few words.
  [[nodiscard]] std::string fault() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace detail
}  // namespace graph
}  // namespace v1
}  // namespace shunt
