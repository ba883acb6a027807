#include <shunt/io/buffered.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>

#include <shunt/io/detail/transfer.hpp>

namespace shunt {
inline namespace v1 {
namespace io {
namespace {

void require_capacity(std::size_t capacity, const char* what) {
  if (capacity == 0) throw usage_error(error_number(311), std::string(what) + ": a capacity of 0 bytes");
}

[[noreturn]] void raise(const std::string& what, std::error_code ec, std::size_t moved, const deadline& until) {
  if (ec == errc::end_of_stream) throw end_of_stream(what, ec, moved, until.where());
  throw io_error(what, ec, moved, until.where());
}

}  // namespace

// --- buffered_writer ---

buffered_writer::buffered_writer(const detail::byte_end<const_buffer>& to, std::uint64_t at, std::size_t capacity)
    : to_(to), at_(at), capacity_(capacity), exceptions_(std::uncaught_exceptions()) {
  require_capacity(capacity, "buffered_writer");
}

buffered_writer::~buffered_writer() {
  if (pending() == 0 || failed_ || std::uncaught_exceptions() > exceptions_) return;
  try {
    std::fprintf(stderr, "shunt: a buffered_writer to %s was destroyed with %zu bytes that were not flushed\n",
                 name().c_str(), pending());
  } catch (...) {  // no memory for the name
    std::fputs("shunt: a buffered_writer was destroyed with bytes that were not flushed\n", stderr);
  }
}

void buffered_writer::require_idle() const {
  if (writing_)
    throw usage_error(error_number(312), "buffered_writer to " + name() + ": another fiber is in a call of it");
}

/// Gives the sink `what`. Meanwhile room_ is 0, so that another fiber's append() comes to require_idle().
std::size_t buffered_writer::write_through(const_buffer what, std::error_code& ec, const deadline& until) {
  struct call_under_way {
    explicit call_under_way(buffered_writer& of) : it(of) {
      it.writing_ = true;
      it.room_ = 0;
    }
    ~call_under_way() {
      it.writing_ = false;
      it.room_ = it.bytes_ == nullptr ? 0 : it.capacity_ - it.end_;
    }
    buffered_writer& it;
  };
  failed_ = true;  // unless it returns without an error
  const call_under_way noted(*this);
  const auto moved = to_.move(to_.object, at_, what, ec, until);
  at_ += moved;
  failed_ = static_cast<bool>(ec);
  return moved;
}

std::size_t buffered_writer::flush_pending(std::error_code& ec, const deadline& until) {
  ec.clear();
  require_idle();
  if (pending() == 0) return 0;
  const auto moved = write_through({bytes_.get() + begin_, pending()}, ec, until);
  begin_ += moved;
  if (begin_ == end_) begin_ = end_ = 0;
  room_ = capacity_ - end_;
  return moved;
}

std::size_t buffered_writer::flush(std::error_code& ec, const deadline& until) { return flush_pending(ec, until); }
void buffered_writer::flush(const deadline& until) {
  std::error_code ec;
  const auto moved = flush_pending(ec, until);
  if (ec) raise("flush to " + name(), ec, moved, until);
}

/// Fills the buffer, flushes it, and so on; what is left and no smaller than an empty buffer goes straight to the sink.
std::size_t buffered_writer::write_slowly(const_buffer what, std::error_code& ec, const deadline& until) {
  ec.clear();
  require_idle();
  if (bytes_ == nullptr) {
    bytes_ = std::make_unique_for_overwrite<std::byte[]>(capacity_);
    room_ = capacity_;
  }
  if (begin_ != 0) {  // a flush has failed half-way
    std::memmove(bytes_.get(), bytes_.get() + begin_, pending());
    end_ -= begin_;
    begin_ = 0;
    room_ = capacity_ - end_;
  }
  std::size_t taken = 0;
  for (;;) {
    const const_buffer left = what.from(taken);
    if (pending() == 0 && left.size() >= capacity_) return taken + write_through(left, ec, until);
    const auto count = std::min(left.size(), room_);
    append({left.data(), count});
    taken += count;
    if (taken == what.size()) return taken;
    flush_pending(ec, until);
    if (ec) return taken;
  }
}
void buffered_writer::write_slowly(const_buffer what, const deadline& until) {
  std::error_code ec;
  const auto taken = write_slowly(what, ec, until);
  if (ec) raise("write to " + name(), ec, taken, until);
}

void buffered_writer::discard() {
  require_idle();
  begin_ = end_ = 0;
  room_ = bytes_ == nullptr ? 0 : capacity_;
}

// --- buffered_reader ---

buffered_reader::buffered_reader(const detail::byte_end<buffer>& from, std::uint64_t at, buffered_writer* flushed,
                                 std::size_t capacity)
    : from_(from), at_(at), flushed_(flushed), capacity_(capacity) {
  require_capacity(capacity, "buffered_reader");
}

/// Reads some bytes into `into`, after a flush of the writer.
buffered_reader::result buffered_reader::call_system(buffer into, const deadline& until) {
  result done;
  if (flushed_ != nullptr && flushed_->pending() != 0) {
    flushed_->flush(done.ec, until);
    if (done.ec) return {0, done.ec, true};
  }
  done.moved = from_.move(from_.object, at_, into, done.ec, until);
  at_ += done.moved;
  return done;
}

/// Reads some bytes behind those buffered. The buffer has space for `least` of them in all, more than it has.
buffered_reader::result buffered_reader::fill(std::size_t least, const deadline& until) {
  const auto have = end_ - begin_;
  const auto wanted = std::max(least, capacity_);
  if (size_ < wanted || (have == 0 && size_ != wanted)) {
    auto larger = std::make_unique_for_overwrite<char[]>(wanted);
    if (have != 0) std::memcpy(larger.get(), bytes_.get() + begin_, have);
    bytes_ = std::move(larger);
    size_ = wanted;
  } else if (begin_ != 0 && have != 0) {
    std::memmove(bytes_.get(), bytes_.get() + begin_, have);
  }
  begin_ = 0;
  end_ = have;
  const auto done = call_system({bytes_.get() + end_, size_ - end_}, until);
  end_ += done.moved;
  return done;
}

/// Reads until `least` bytes are buffered. moved: 0 without an error: the stream ended, and none is.
buffered_reader::result buffered_reader::require(std::size_t least, const deadline& until) {
  while (end_ - begin_ < least) {
    const auto one = fill(least, until);
    if (one.ec) return {end_ - begin_, one.ec, one.flushing};
    if (one.moved != 0) continue;
    if (end_ == begin_) return {};
    return {end_ - begin_, errc::end_of_stream};
  }
  return {end_ - begin_};
}

std::size_t buffered_reader::take(buffer into) noexcept {
  const auto count = std::min(end_ - begin_, into.size());
  if (count != 0) std::memcpy(into.data(), bytes_.get() + begin_, count);
  begin_ += count;
  return count;
}

std::string_view buffered_reader::taken(std::size_t count) noexcept {
  const auto first = buffered().substr(0, count);
  begin_ += count;
  return first;
}

buffered_reader::result buffered_reader::some(buffer into, const deadline& until) {
  if (into.size() == 0) return {};
  if (end_ == begin_) {
    if (into.size() >= capacity_) return call_system(into, until);
    const auto one = fill(1, until);
    if (one.ec) return one;
  }
  return {take(into)};
}

buffered_reader::result buffered_reader::exactly(buffer into, const deadline& until) {
  std::size_t have = take(into);
  while (have < into.size()) {
    const auto one = some(into.from(have), until);
    if (one.ec) return {have, one.ec, one.flushing};
    if (one.moved == 0) return {have, errc::end_of_stream};
    have += one.moved;
  }
  return {have};
}

/// Searches what is buffered, then reads more, in turn. Each search begins where the last one ended, less a delimiter's
/// length, as a delimiter may lie across two reads. A full buffer doubles, up to `most`.
buffered_reader::result buffered_reader::find(std::string_view delimiter, std::size_t most, const deadline& until) {
  detail::require_delimiter(delimiter, most, until);
  std::size_t searched = 0;
  for (;;) {
    const auto have = buffered().substr(0, most);
    const auto overlap = std::min(searched, delimiter.size() - 1);
    const auto at = have.find(delimiter, searched - overlap);
    if (at != have.npos) return {at + delimiter.size()};
    if (have.size() == most) return {most, errc::too_long};
    searched = have.size();
    const auto space = searched < capacity_ ? searched + 1 : std::min(2 * searched, most);
    const auto one = fill(space, until);
    if (one.ec) return {searched, one.ec, one.flushing};
    if (one.moved != 0) continue;
    if (searched == 0) return {};
    return {searched, errc::end_of_stream};
  }
}

void buffered_reader::raise(const char* call, const result& of, const deadline& until) const {
  const auto from = std::string(call) + " from " + from_.name(from_.object);
  if (of.flushing) io::raise("flush to " + flushed_->name() + ", before " + from, of.ec, of.moved, until);
  io::raise(from, of.ec, of.moved, until);
}

std::string_view buffered_reader::peek(std::size_t least, std::error_code& ec, const deadline& until) {
  ec = require(least, until).ec;
  return buffered();
}
std::string_view buffered_reader::peek(std::size_t least, const deadline& until) {
  const auto done = require(least, until);
  if (done.ec) raise("peek", done, until);
  return buffered();
}

std::size_t buffered_reader::read_some(buffer into, std::error_code& ec, const deadline& until) {
  const auto done = some(into, until);
  ec = done.ec;
  return done.moved;
}
std::size_t buffered_reader::read_some(buffer into, const deadline& until) {
  const auto done = some(into, until);
  if (done.ec) raise("read_some", done, until);
  return done.moved;
}

std::size_t buffered_reader::read_exactly(buffer into, std::error_code& ec, const deadline& until) {
  const auto done = exactly(into, until);
  ec = done.ec;
  return done.moved;
}
void buffered_reader::read_exactly(buffer into, const deadline& until) {
  const auto done = exactly(into, until);
  if (done.ec) raise("read_exactly", done, until);
}

std::string_view buffered_reader::read_until(std::string_view delimiter, std::size_t most, std::error_code& ec,
                                             const deadline& until) {
  const auto done = find(delimiter, most, until);
  ec = done.ec;
  return ec ? std::string_view() : taken(done.moved);
}
std::string_view buffered_reader::read_until(std::string_view delimiter, std::size_t most, const deadline& until) {
  const auto done = find(delimiter, most, until);
  if (done.ec) raise("read_until", done, until);
  return taken(done.moved);
}

}  // namespace io
}  // namespace v1
}  // namespace shunt
