// Journeys: a car, a flight and a room, all of them or none, from tables that others change meanwhile. An auditor
// compares the tables with what the customers hold. --stats prints what the transactions cost.
//
// Like the benchmark vacation. Source: Cao Minh, Chung, Kozyrakis, Olukotun: STAMP: Stanford transactional applications
// for multi-processing, IISWC 2008, doi:10.1109/IISWC.2008.4636089.
#include <array>
#include <atomic>
#include <cstdio>
#include <exception>
#include <map>
#include <optional>
#include <random>
#include <shunt/stm.hpp>
#include <string_view>
#include <vector>

namespace {

enum kind { car, flight, room, kinds };

struct offer {
  int all = 0, taken = 0;
  long price = 0;
};
struct booking {
  kind what;
  int number;
  long price;
};

struct agency {
  std::array<shunt::tmap<int, offer>, kinds> offers;
  shunt::tmap<int, std::vector<booking>> customers;
  shunt::tcounter owed;

  /// The cheapest of some offers of each kind that are free. \return false: of some kind there is none; then nothing is
  /// booked.
  bool book(int customer, const std::array<std::vector<int>, kinds>& wanted) {
    return shunt::atomically([&](shunt::tx& t) {
      auto journey = customers.find(t, customer).value_or(std::vector<booking>());
      for (const kind k : {car, flight, room}) {
        std::optional<booking> best;
        for (const int number : wanted[k]) {
          const auto o = offers[k].find(t, number);
          if (o && o->taken < o->all && (!best || o->price < best->price)) best = booking{k, number, o->price};
        }
        if (!best) return false;
        journey.push_back(*best);
      }
      for (auto b = journey.end() - kinds; b != journey.end(); ++b) {
        offers[b->what].modify(t, b->number, [](offer o) { return offer{o.all, o.taken + 1, o.price}; });
        owed.add(t, b->price);
      }
      customers.insert_or_assign(t, customer, std::move(journey));
      return true;
    });
  }

  /// \return false: there is no such customer.
  bool leave(int customer) {
    return shunt::atomically([&](shunt::tx& t) {
      const auto journey = customers.find(t, customer);
      if (!journey) return false;
      for (const booking& b : *journey) {
        offers[b.what].modify(t, b.number, [](offer o) { return offer{o.all, o.taken - 1, o.price}; });
        owed.add(t, -b.price);
      }
      return customers.erase(t, customer);
    });
  }

  /// Some more of an offer at a new price; or, if no customer has booked it, none any more.
  void change(kind k, int number, int more, long price) {
    shunt::atomically([&](shunt::tx& t) {
      const offer now = offers[k].find(t, number).value_or(offer());
      if (more == 0 && now.taken == 0) {
        offers[k].erase(t, number);
      } else {
        offers[k].insert_or_assign(t, number, {now.all + more, now.taken, price});
      }
    });
  }

  /// Whether what is taken is what customers have booked, and what is owed their prices.
  bool consistent() const {
    return shunt::atomically([&](shunt::tx& t) {
      std::array<std::map<int, int>, kinds> booked;
      long prices = 0;
      customers.for_each(t, [&](int, const std::vector<booking>& journey) {
        for (const booking& b : journey) {
          ++booked[b.what][b.number];
          prices += b.price;
        }
      });
      bool right = prices == owed.value(t);
      for (const kind k : {car, flight, room}) {
        offers[k].for_each(t, [&](int number, const offer& o) {
          right = right && o.taken <= o.all && o.taken == booked[k][number];
          booked[k].erase(number);
        });
        right = right && booked[k].empty();  // no customer has booked what is not offered
      }
      return right;
    });
  }
};

}  // namespace

int main(int argc, char** argv) try {
  const bool stats = argc > 1 && std::string_view(argv[1]) == "--stats";
  constexpr int numbers = 64, people = 40, clerks = 4, actions = 2000;
  agency all;
  for (const kind k : {car, flight, room}) {
    for (int n = 0; n < numbers; ++n) all.change(k, n, 3, 50 + n);
  }
  std::atomic<int> at_work{clerks}, wrong{0}, audits{0};
  std::atomic<long> booked{0}, refused{0};
  shunt::sched::runtime workers({.workers = 2});
  workers.run([&] {
    for (unsigned c = 0; c < clerks; ++c) {
      workers.spawn([&, c] {
        std::mt19937 random(c);
        const auto any = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
        for (int i = 0; i < actions; ++i) {
          const int action = any(10);
          if (action < 8) {
            std::array<std::vector<int>, kinds> wanted;
            for (auto& w : wanted) w = {any(numbers), any(numbers), any(numbers), any(numbers)};
            ++(all.book(any(people), wanted) ? booked : refused);
          } else if (action == 8) {
            all.leave(any(people));
          } else {
            all.change(static_cast<kind>(any(kinds)), any(numbers), any(3), 50 + any(100));
          }
          if (i % 16 == 0) shunt::sched::this_fiber::yield();
        }
        --at_work;
      });
    }
    do {
      ++audits;
      if (!all.consistent()) ++wrong;
      shunt::sched::this_fiber::yield();
    } while (at_work > 0);
  });
  for (int customer = 0; customer < people; ++customer) all.leave(customer);
  const bool right = wrong == 0 && booked > 0 && all.consistent() && all.customers.empty() && all.owed.value() == 0;
  std::fprintf(stderr, "%ld journeys booked, %ld refused, %d audits\n", booked.load(), refused.load(), audits.load());
  if (stats) std::fputs(shunt::stm::to_text(shunt::stm::collect_statistics()).c_str(), stderr);
  std::puts(right ? "reservations: right" : "reservations: WRONG");
  return right ? 0 : 1;
} catch (const std::exception& bad) {
  std::fprintf(stderr, "%s\n", bad.what());
  return 1;
}
