/// Costs of transactions that meet no other one.
#pragma once

#include <shunt/stm.hpp>

#include "cost.hpp"

namespace bench {

constexpr long variables = 100;

/// While one lives, transactions run as they do where several threads have some, though there is one thread only.
/// Otherwise that thread is alone, and spares itself the half of it.
class as_among_others {
 public:
  as_among_others() { shunt::stm::set_policies({.exclusive = false}); }
  ~as_among_others() { shunt::stm::set_policies({}); }
  as_among_others(const as_among_others&) = delete;
  as_among_others& operator=(const as_among_others&) = delete;
};
/// The same measured so.
template <cost (*Alone)(long)>
cost among_others(long operations) {
  const as_among_others mode;
  return Alone(operations);
}

/// Reads of many variables in each transaction.
template <typename Transaction>
cost reads(long operations, Transaction&& transaction) {
  static shunt::tvar<long> ones[variables];
  for (auto& x : ones) x.store(1);
  return processor_time(operations, [&](long n) {
    long sum = 0;
    while (sum < n) {
      sum += transaction([](auto& t) {
        long here = 0;
        for (const auto& x : ones) here += t.read(x);
        return here;
      });
    }
    return std::min(sum, n);
  });
}
inline cost tx_read(long operations) {
  return reads(operations, [](auto body) { return shunt::atomically([&](shunt::tx& t) { return body(t); }); });
}
inline cost snapshot_read(long operations) {
  return reads(operations, [](auto body) { return shunt::snapshot([&](shunt::ro_tx& t) { return body(t); }); });
}

inline cost atomically_read(long operations) {
  const shunt::tvar<long> one(1);
  return processor_time(operations, [&](long n) {
    long sum = 0;
    while (sum < n) sum += shunt::atomically([&](shunt::tx& t) { return t.read(one); });
    return sum;
  });
}
inline cost atomically_write(long operations) {
  shunt::tvar<long> sum(0);
  return processor_time(operations, [&](long n) {
    for (long i = 0; i < n; ++i) shunt::atomically([&](shunt::tx& t) { t.write(sum, i + 1); });
    return sum.load();
  });
}
inline cost tvar_store(long operations) {
  shunt::tvar<long> last(0);
  return processor_time(operations, [&](long n) {
    for (long i = 0; i < n; ++i) last.store(i + 1);
    return last.load();
  });
}

inline cost named(long operations) {
  const shunt::tvar<long> one(1);
  return processor_time(operations, [&](long n) {
    long made = 0;
    for (; made < n; ++made) const shunt::stm::named name(one, "one");
    return made;
  });
}

}  // namespace bench
