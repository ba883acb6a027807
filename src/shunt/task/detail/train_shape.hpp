/// The size of a railway's trains, from its options.
#pragma once

#include <cstddef>

#include <shunt/base/call_site.hpp>
#include <shunt/task/railway_options.hpp>

namespace shunt {
inline namespace v1 {
namespace task {
namespace detail {

struct train_shape {
  std::size_t capacity;  // goods
  std::size_t trains;    // of each source
  bool headers;          // each train has a header in front of its goods, see rail::train_ring
  std::size_t goods_offset;
  std::size_t train_bytes;
  std::size_t alignment;
};

/// \param call  of the railway's constructor, for errors. \throws usage_error
[[nodiscard]] train_shape shape_of(const railway_options& wanted, std::size_t good_bytes, std::size_t good_alignment,
                                   call_site call);

}  // namespace detail
}  // namespace task
}  // namespace v1
}  // namespace shunt
