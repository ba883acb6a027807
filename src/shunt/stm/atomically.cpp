#include <shunt/base/call_site.hpp>
#include <shunt/base/error.hpp>
#include <shunt/stm/atomically.hpp>

namespace shunt {
inline namespace v1 {
namespace stm {
namespace detail {

void stm_access::join(tx& t, manner how, const wait_limits* limits, std::source_location where) {
  if (limits != nullptr)
    throw usage_error(error_number(701),
                      "atomically_until: called inside a transaction, which cannot wait" +
                          call_site("atomically_until", where).place(),
                      call_site("atomically_until", where).where());
  if (t.state().read_only && how != manner::snapshot) {
    throw usage_error(
        error_number(702),
        "atomically: called inside snapshot(), whose reads would not be validated: make that atomically() too" +
            call_site("atomically", where).place(),
        call_site("atomically", where).where());
  }
  if (how == manner::irrevocable) t.become_irrevocable();
}

}  // namespace detail
}  // namespace stm
}  // namespace v1
}  // namespace shunt
