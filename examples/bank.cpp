// A bank: many transfers at once, an auditor that never sees money under way, and a payment that waits for a salary.
#include <array>
#include <atomic>
#include <cstdio>
#include <exception>
#include <random>
#include <shunt/stm.hpp>

namespace {

using account = shunt::tvar<long>;

// [transfer]
void transfer(account& from, account& to, long amount) {
  shunt::atomically([&](shunt::tx& t) {
    t.write(from, t.read(from) - amount);
    t.write(to, t.read(to) + amount);
  });
}
// [/transfer]

/// Only with money that is there: waits for it.
void pay(account& from, account& to, long amount) {
  shunt::atomically([&](shunt::tx& t) {
    t.check(t.read(from) >= amount);
    transfer(from, to, amount);  // a part of this transaction
  });
}

}  // namespace

int main() try {
  constexpr long each = 1000, accounts = 16, clerks = 4, transfers = 20'000;
  std::array<account, accounts> bank;
  for (auto& a : bank) a.store(each);
  account employer(3 * each), tenant(0), landlord(0);

  const auto sum = [&bank] {
    return shunt::snapshot([&](shunt::ro_tx& t) {
      long all = 0;
      for (const auto& a : bank) all += t.read(a);
      return all;
    });
  };
  std::atomic<long> at_work{clerks}, audits{0}, wrong{0};
  shunt::sched::runtime workers({.workers = 2});
  workers.run([&] {
    for (unsigned c = 0; c < clerks; ++c) {
      workers.spawn([&, c] {
        std::mt19937 random(c);
        for (long i = 0; i < transfers; ++i) {
          transfer(bank[random() % accounts], bank[random() % accounts], static_cast<long>(random() % 100));
          if (i % 100 == 0) shunt::sched::this_fiber::yield();
        }
        --at_work;
      });
    }
    workers.spawn([&] {
      do {
        ++audits;
        if (sum() != accounts * each) ++wrong;
        shunt::sched::this_fiber::yield();
      } while (at_work > 0);
    });
    workers.spawn([&] {
      for (int month = 0; month < 3; ++month) pay(tenant, landlord, each);  // parks until there is enough
    });
    for (int week = 0; week < 12; ++week) {
      transfer(employer, tenant, each / 4);
      shunt::sched::this_fiber::yield();
    }
  });
  std::fprintf(stderr, "%ld audits\n", audits.load());
  const bool right = wrong == 0 && sum() == accounts * each && tenant.load() == 0 && landlord.load() == 3 * each;
  std::puts(right ? "bank: right" : "bank: WRONG");
  return right ? 0 : 1;
} catch (const std::exception& bad) {
  std::fprintf(stderr, "%s\n", bad.what());
  return 1;
}
