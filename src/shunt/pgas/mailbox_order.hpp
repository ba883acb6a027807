/// Which mailboxes of a selector end before which.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace shunt {
inline namespace v1 {
namespace pgas {

/// Says of mailboxes which others end before them: those whose handlers send to them. A mailbox that it says nothing of
/// depends on none, and ends as soon as all programs are done with it.
///
/// ```cpp
/// // Handlers of 0 and of 1 send to 2. Neither waits for the other.
/// auto merge = pgas::make_selector<3>(pgas::mailbox_order{{2, {0, 1}}}, table);
/// ```
///
/// Where a selector is given none, each mailbox ends after the one before it. All PEs give the same one. A handler
/// that sends to a mailbox which does not end after its own may find it ended: an error, as after done().
class mailbox_order {
 public:
  /// A mailbox, and those that end before it.
  struct dependence {
    std::size_t mailbox;             ///< 0..Mailboxes-1 of the selector
    std::vector<std::size_t> after;  ///< mailboxes that end before it
  };

  /// Several for one mailbox hold together.
  mailbox_order(std::initializer_list<dependence> all) : all_(all) {}

  /// For each mailbox a bit of each that ends before it. \param selector  its name, for the error
  /// \throws usage_error for a mailbox that the selector does not have, and for mailboxes that wait for each other:
  ///         the message names them.
  [[nodiscard]] std::vector<std::uint64_t> feeders(std::size_t mailboxes, std::string_view selector) const;

 private:
  std::vector<dependence> all_;
};

}  // namespace pgas
}  // namespace v1
}  // namespace shunt
