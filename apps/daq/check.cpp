#include "daq/check.hpp"

#include <map>

namespace shunt::daq {
namespace {

bool made_by(fault what, trouble seen) noexcept {
  switch (what) {
    case fault::none: return seen == trouble::none;
    case fault::stalled: return seen == trouble::stalled;
    case fault::hung_up: return seen == trouble::hung_up;
    case fault::garbled: return seen >= trouble::no_magic && seen <= trouble::wrong_checksum;
  }
  return false;
}

const char* name_of(fault what) noexcept {
  constexpr const char* names[] = {"none", "stalled", "garbled", "hung up"};
  return names[static_cast<std::size_t>(what)];
}

}  // namespace

verdict check(const outcome& found, std::span<const sent> known) {
  verdict all;
  tally total;
  std::map<std::uint32_t, const incident*> failed;
  for (const auto& one : found.incidents) failed[one.channel] = &one;
  for (std::uint32_t c = 0; c < known.size(); ++c) {
    const auto& wanted = known[c];
    const auto& got = found.channels[c];
    const auto at = failed.find(c);
    const auto* const how = at == failed.end() ? nullptr : at->second;
    const std::string channel = "channel " + std::to_string(c) + ": ";
    all.sent += wanted.frames;
    total.add(wanted.good);
    if (how == nullptr && wanted.what != fault::none) {
      all.problems.push_back(channel + "should have failed (" + name_of(wanted.what) + "), and did not");
    } else if (how != nullptr && !made_by(wanted.what, how->how.what)) {
      all.problems.push_back(text_of(*how) + "; expected: " + name_of(wanted.what));
    } else if (how != nullptr && how->how.frame != wanted.good.frames) {
      all.problems.push_back(text_of(*how) + "; expected at frame " + std::to_string(wanted.good.frames));
    }
    if (got.frames != wanted.good.frames) {
      all.problems.push_back(channel + std::to_string(got.frames) + " frames of " + std::to_string(wanted.good.frames) +
                             " have come");
    } else if (got != wanted.good) {
      all.problems.push_back(channel + "its sums are not those of what was sent");
    }
    if (wanted.what != fault::none) all.left_out += wanted.frames - got.frames;
  }
  all.received = found.total.frames;
  if (found.total != total) all.problems.push_back("the total is not that of what was sent");
  if (found.out_of_order != 0) {
    all.problems.push_back(std::to_string(found.out_of_order) + " readings came out of order");
  }
  if (all.sent != all.received + all.left_out) {
    all.problems.push_back(std::to_string(all.sent) + " frames were sent, " + std::to_string(all.received) +
                           " received, " + std::to_string(all.left_out) + " left out of failed channels");
  }
  return all;
}

std::string text_of(const incident& one) {
  const auto& how = one.how;
  std::string text =
      "channel " + std::to_string(one.channel) + ": " + name_of(how.what) + " at frame " + std::to_string(how.frame);
  if (how.what == trouble::stalled || how.what == trouble::hung_up) {
    text += ", after " + std::to_string(how.bytes) + " bytes of it";
  }
  if (how.what == trouble::unreadable) text += ", " + how.code.message();
  return text;
}

}  // namespace shunt::daq
