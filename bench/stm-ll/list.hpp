/// A sorted linked list of numbers below `keys`, half full at first: random lookups, the rest half insertions, half
/// removals.
#pragma once

#include <string_view>

#include "../common/transactions.hpp"

namespace bench {

/// \tparam List  made of nothing; contains(k), insert(k), remove(k) say whether k was there (insert: was not); count()
/// when all
///               have ended: its size, -1 if it is not sorted.
template <typename System, typename List>
int list_operations(int argc, char** argv) {
  const auto o = bench_parse(argc, argv);
  System system(o);
  for (long sample = -o.warmup; sample < o.samples; ++sample) {
    List list;
    for (long k = 0; k < o.table; k += 2) list.insert(k);
    struct alignas(128) own {
      unsigned long random;
      long grown = 0;
      volatile long found = 0;
    };
    std::vector<own> all(static_cast<std::size_t>(o.fibers));
    for (std::size_t i = 0; i < all.size(); ++i) all[i].random = 88172645463325252UL + 7919UL * i;
    const double aborts = aborts_of<System>();
    const double begin = bench_now();
    const auto step = [&](long me, long) {
      auto& mine = all[static_cast<std::size_t>(me)];
      mine.random ^= mine.random << 13;  // Marsaglia's xorshift
      mine.random ^= mine.random >> 7;
      mine.random ^= mine.random << 17;
      const long key = static_cast<long>((mine.random >> 8) % static_cast<unsigned long>(o.table));
      const long kind = static_cast<long>((mine.random >> 40) % 200);
      if (kind < 2 * o.lookups) {
        mine.found = mine.found + (list.contains(key) ? 1 : 0);  // kept, so that nothing is left out
      } else if (kind % 2 == 0) {
        mine.grown += list.insert(key) ? 1 : 0;
      } else {
        mine.grown -= list.remove(key) ? 1 : 0;
      }
    };
    const bool counted = std::string_view(o.what) == "operations";  // so many, as published; else for a time
    const long each = o.updates / o.fibers;
    const auto shares =
        counted ? so_often(system, o.fibers, each, step) : for_a_time(system, o.fibers, o.milliseconds, step);
    const double seconds = bench_now() - begin;
    long expected = (o.table + 1) / 2, operations = 0;
    for (const own& one : all) expected += one.grown;
    for (const long s : shares) operations += s;
    if (list.count() != expected) {
      bench_wrong(argv[0], "the list's length", static_cast<unsigned long long>(list.count()),
                  static_cast<unsigned long long>(expected));
    }
    if (sample < 0) continue;
    const double per_operation = (aborts_of<System>() - aborts) / static_cast<double>(operations);
    bench_report(seconds, (member("operations", static_cast<double>(operations)) +
                           aborts_member<System>(per_operation) + member("share", fairness(shares)))
                              .c_str());
  }
  return 0;
}

/// \return how many nodes there are; -1: they are out of order.
template <typename Node>
long count_in_order(const Node* at) {
  long n = 0;
  for (; at != nullptr; at = at->next, ++n) {
    if (at->next != nullptr && at->next->key <= at->key) return -1;
  }
  return n;
}

/// What a list is without transactions; each operation between a Guard's construction and destruction.
template <typename Lock>
class locked_list {
 public:
  ~locked_list() {
    while (head_ != nullptr) drop(&head_);
  }
  bool contains(long k) {
    const typename Lock::guard held(lock_);
    node** at = find(k);
    return *at != nullptr && (*at)->key == k;
  }
  bool insert(long k) {
    const typename Lock::guard held(lock_);
    node** at = find(k);
    if (*at != nullptr && (*at)->key == k) return false;
    *at = new node{k, *at};
    return true;
  }
  bool remove(long k) {
    const typename Lock::guard held(lock_);
    node** at = find(k);
    if (*at == nullptr || (*at)->key != k) return false;
    drop(at);
    return true;
  }
  [[nodiscard]] long count() const { return count_in_order(head_); }

 private:
  struct node {
    long key;
    node* next;
  };
  node** find(long k) {
    node** at = &head_;
    while (*at != nullptr && (*at)->key < k) at = &(*at)->next;
    return at;
  }
  static void drop(node** at) {
    node* const gone = *at;
    *at = gone->next;
    delete gone;
  }
  Lock lock_;
  node* head_ = nullptr;
};

}  // namespace bench
