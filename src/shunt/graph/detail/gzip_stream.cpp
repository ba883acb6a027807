// SHUNT_ZLIB is defined for this file alone, where cmake/modules.cmake has found zlib.
#include <new>
#include <shunt/graph/detail/gzip_stream.hpp>
#include <stdexcept>

#ifdef SHUNT_ZLIB
#include <zlib.h>
#endif

namespace shunt {
inline namespace v1 {
namespace graph {
namespace detail {

#ifdef SHUNT_ZLIB

struct gzip_stream::state {
  z_stream stream{};
};

bool gzip_stream::available() noexcept { return true; }

gzip_stream::gzip_stream() : state_(std::make_unique<state>()) {
  constexpr int gzip_only = 16 + MAX_WBITS;  // zlib.h: 16 added to the window bits
  if (inflateInit2(&state_->stream, gzip_only) != Z_OK) throw std::bad_alloc();
}

gzip_stream::~gzip_stream() { inflateEnd(&state_->stream); }

void gzip_stream::begin_member() noexcept { inflateReset(&state_->stream); }

gzip_stream::step gzip_stream::inflate(const char* input, std::size_t input_bytes, char* to, std::size_t room) {
  auto& stream = state_->stream;
  stream.next_in = reinterpret_cast<z_const Bytef*>(const_cast<char*>(input));  // zlib reads it only
  stream.avail_in = static_cast<uInt>(input_bytes);
  stream.next_out = reinterpret_cast<Bytef*>(to);
  stream.avail_out = static_cast<uInt>(room);
  const int code = ::inflate(&stream, Z_NO_FLUSH);
  step done{input_bytes - stream.avail_in, room - stream.avail_out, outcome::more};
  switch (code) {
    case Z_OK:
    case Z_BUF_ERROR: break;  // wants more input
    case Z_STREAM_END: done.is = outcome::end_of_member; break;
    case Z_MEM_ERROR: throw std::bad_alloc();
    default: done.is = outcome::fault;
  }
  return done;
}

std::string gzip_stream::fault() const { return state_->stream.msg != nullptr ? state_->stream.msg : "unknown fault"; }

#else

struct gzip_stream::state {};

bool gzip_stream::available() noexcept { return false; }
gzip_stream::gzip_stream() { throw std::logic_error("gzip_stream: the library was built without zlib"); }
gzip_stream::~gzip_stream() = default;
void gzip_stream::begin_member() noexcept {}
gzip_stream::step gzip_stream::inflate(const char*, std::size_t, char*, std::size_t) { return {}; }
std::string gzip_stream::fault() const { return {}; }

#endif

}  // namespace detail
}  // namespace graph
}  // namespace v1
}  // namespace shunt
