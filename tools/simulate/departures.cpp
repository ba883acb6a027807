#include "departures.hpp"

#include <algorithm>
#include <shunt/wire/batch.hpp>

namespace shunt::simulate {
namespace {

constexpr std::int64_t batch_bytes = sizeof(wire::batch_head);

/// The whole part of a square root, by Newton's method.
std::int64_t root_of(std::int64_t n) noexcept {
  if (n <= 0) return 0;
  std::int64_t x = n, next = (x + 1) / 2;
  while (next < x) {
    x = next;
    next = (x + n / x) / 2;
  }
  return x;
}

/// A sum of twelve uniform numbers less its mean has the variance 1; in units of 2^-16.
std::int64_t normal(random_numbers& random) noexcept {
  std::int64_t sum = 0;
  for (int i = 0; i < 3; ++i) {
    const std::uint64_t four = random();
    for (int shift = 0; shift < 64; shift += 16) sum += static_cast<std::int64_t>(four >> shift & 0xffff);
  }
  return sum - 6 * 65'536;
}

/// Where the r-th of n messages lies among N.
std::int64_t place_of(std::int64_t r, std::int64_t n, std::int64_t all, random_numbers& random) noexcept {
  const std::int64_t mean = scaled(r, all + 1, n + 1);
  if (n == all) return mean;
  // Variance of the share r/(n+1), in units of 2^-40; its root in units of 2^-20.
  const std::int64_t share = scaled(r, std::int64_t{1} << 20, n + 1);
  const std::int64_t variance = share * ((std::int64_t{1} << 20) - share) / (n + 2);
  const std::int64_t deviation = scaled(root_of(variance), all, std::int64_t{1} << 20);
  return std::clamp(mean + scaled(deviation, normal(random), 65'536), r, all - (n - r));
}

}  // namespace

departures departures_of(std::span<const load> loads, stage of, std::int64_t train_bytes, random_numbers random) {
  departures all;
  for (const auto& l : loads) all.messages += l.messages;
  for (const auto& l : loads) {
    if (l.messages == 0) continue;
    const std::int64_t room = train_bytes - batch_bytes;
    const std::int64_t each = std::max<std::int64_t>(1, scaled(room, l.messages, std::max<std::int64_t>(1, l.bytes)));
    std::int64_t done = 0, place = 0;
    while (done < l.messages) {
      const std::int64_t now = std::min(each, l.messages - done);
      departure d{0,
                  l.to,
                  l.how,
                  of,
                  false,
                  now,
                  scaled(l.bytes, done + now, l.messages) - scaled(l.bytes, done, l.messages) + batch_bytes,
                  scaled(l.handling, done + now, l.messages) - scaled(l.handling, done, l.messages)};
      done += now;
      if (done < l.messages) {
        // It leaves when the next message finds no room; never before the train that was full before it.
        place = std::max(place, place_of(done + 1, l.messages, all.messages, random));
        d.after = place;
        all.full.push_back(d);
      } else {
        d.after = all.messages;
        all.last.push_back(d);
      }
    }
  }
  std::stable_sort(all.full.begin(), all.full.end(),
                   [](const departure& a, const departure& b) { return a.after < b.after; });
  return all;
}

}  // namespace shunt::simulate
