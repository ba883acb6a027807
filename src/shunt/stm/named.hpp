/// Names for variables, in statistics and in reports of fibers that wait for ever.
///
/// ```cpp
/// shunt::tvar<int> stock{0};
/// const shunt::stm::named of_stock(stock, "stock");
/// ```
/// When a transaction has read `stock` and retries, sched::report_fibers(), and the runtime's report that no fiber can
/// run, say that it waits for "a commit to what shop.cpp:12 has read: `stock`".
#pragma once

#include <cstddef>
#include <string>
#include <utility>

namespace shunt {
inline namespace v1 {
namespace stm {

/// While it lives, each variable that lies in `object` has that name: a tvar, or an array, a class or a structure of
/// several. Where one named object lies in another, the innermost name counts. Variables that lie elsewhere, like the
/// items of a tqueue, have none. Any thread. Cost: a lock and some 50 ns; while there are names, each wait of a retry
/// costs somewhat more.
class named {
 public:
  /// \throws std::bad_alloc; usage_error if this very object has a name already.
  template <typename Object>
  named(const Object& object, std::string name) : named(&object, sizeof(object), std::move(name)) {}
  ~named();
  named(const named&) = delete;
  named& operator=(const named&) = delete;

 private:
  named(const void* object, std::size_t bytes, std::string name);
  const void* const object_;
  const std::size_t bytes_;
};

}  // namespace stm
}  // namespace v1
}  // namespace shunt
