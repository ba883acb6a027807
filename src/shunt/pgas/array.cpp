#include <shunt/pgas/array.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {
namespace {

std::string line_of(std::source_location where) {
  return std::string(where.file_name()) + ":" + std::to_string(where.line());
}
std::string named(const pe& me) { return "PE " + std::to_string(me.index()) + ": "; }

}  // namespace

array_base::array_base(pe& me, std::uint64_t size, void (*finish)(array_base&))
    : me_(&me), size_(size), changeable_(me.arrays().open ? size : 0), finish_(finish) {
  me.arrays().all.push_back(this);
}
array_base::~array_base() { std::erase(me_->arrays().all, this); }

bool array_base::open() const noexcept { return me_->arrays().open; }

void open_superstep(pe& me, std::source_location where) {
  if (std::exchange(me.arrays().open, true)) {
    throw usage_error(error_number(944),
                      named(me) + "superstep() inside of a superstep: end that one first (" + line_of(where) + ")",
                      {.pe = me.index()}, where);
  }
  for (array_base* const each : me.arrays().all) each->set_open(true);
}

/// No PE changes an element any more when it has come here, so the arrays may end one after the other.
void finish_superstep(pe& me) {
  close_superstep(me);
  for (array_base* const each : me.arrays().all) each->finish_changes();
}

void close_superstep(pe& me) noexcept {
  me.arrays().open = false;
  for (array_base* const each : me.arrays().all) each->set_open(false);
}

void refuse_change(pe& me, std::uint64_t i, std::uint64_t size, std::source_location where) {
  if (me.arrays().open) refuse_element(me, i, size, where);
  throw usage_error(error_number(945),
                    named(me) + "an element of an array is changed outside of a superstep: write " +
                        "pgas::superstep(me, [&] { ... }) around the loop (" + line_of(where) + ")",
                    {.pe = me.index()}, where);
}

void refuse_read(const pe& me, const char* call, std::source_location where) {
  throw usage_error(error_number(946),
                    named(me) + call + " in a superstep: elements are read between supersteps (" + line_of(where) + ")",
                    {.pe = me.index()}, where);
}

void refuse_element(const pe& me, std::uint64_t i, std::uint64_t size, std::source_location where) {
  throw usage_error(error_number(947),
                    named(me) + "element " + std::to_string(static_cast<std::int64_t>(i)) + " of an array of " +
                        std::to_string(size) + " (" + line_of(where) + ")",
                    {.pe = me.index()}, where);
}

void refuse_size(const pe& me, std::uint64_t size) {
  throw usage_error(error_number(948),
                    named(me) + "an array of " + std::to_string(size) + " elements on " + std::to_string(me.count()) +
                        " PEs: at most 2^46 in all, and 2^32 a PE, are possible",
                    {.pe = me.index()});
}

void refuse_lengths(const pe& me, const char* call, std::size_t indices, std::size_t values) {
  throw usage_error(error_number(949),
                    named(me) + call + ": " + std::to_string(indices) + " indices and space for " +
                        std::to_string(values) + " values",
                    {.pe = me.index()});
}

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
