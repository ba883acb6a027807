#include <shunt/pgas/mailbox_order.hpp>

#include <bit>
#include <string>

#include <shunt/base/error.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace {

std::string text_of(std::uint64_t mailboxes) {
  std::string all;
  for (; mailboxes != 0; mailboxes &= mailboxes - 1) {
    all += (all.empty() ? "" : ", ") + std::to_string(std::countr_zero(mailboxes));
  }
  return all;
}

/// \return the mailboxes that would never end: those of circles, and those that end after them.
std::uint64_t never_ending(const std::vector<std::uint64_t>& feeders) {
  std::uint64_t ended = 0;
  for (std::uint64_t before = ~ended; before != ended;) {
    before = ended;
    for (std::size_t m = 0; m < feeders.size(); ++m) {
      if ((feeders[m] & ~ended) == 0) ended |= std::uint64_t{1} << m;
    }
  }
  std::uint64_t rest = 0;
  for (std::size_t m = 0; m < feeders.size(); ++m) rest |= std::uint64_t{1} << m;
  return rest & ~ended;
}

/// \return of mailboxes that never end, those of circles, and those between two circles: the others feed none of them.
std::uint64_t circles(const std::vector<std::uint64_t>& feeders) {
  std::uint64_t left = never_ending(feeders);
  for (std::uint64_t before = 0; before != left;) {
    before = left;
    std::uint64_t feeds = 0;  // mailboxes before which another one of them waits
    for (std::size_t m = 0; m < feeders.size(); ++m) {
      if ((left >> m & 1) != 0) feeds |= feeders[m];
    }
    left &= feeds;
  }
  return left;
}

}  // namespace

std::vector<std::uint64_t> mailbox_order::feeders(std::size_t mailboxes, std::string_view selector) const {
  std::vector<std::uint64_t> all(mailboxes);
  const auto known = [&](std::size_t m) {
    if (m < mailboxes) return m;
    throw usage_error(error_number(934), "mailbox_order of " + std::string(selector) + ": no mailbox " +
                                             std::to_string(m) + ", the selector has " + std::to_string(mailboxes) +
                                             ", 0 the first");
  };
  for (const dependence& d : all_) {
    std::uint64_t& feeders_of_one = all[known(d.mailbox)];
    for (const std::size_t before : d.after) feeders_of_one |= std::uint64_t{1} << known(before);
  }
  if (const auto bad = circles(all); bad != 0) {
    throw usage_error(error_number(935),
                      "mailbox_order of " + std::string(selector) + ": mailboxes " + text_of(bad) +
                          " wait for each other's end; let each end after those whose handlers send to it, and use "
                          "quiesce() where handlers send in a circle");
  }
  return all;
}

}  // namespace pgas
}  // namespace v1
}  // namespace shunt
