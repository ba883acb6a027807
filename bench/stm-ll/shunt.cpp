/// Question: what do transactions over a sorted list allow?
#include "../common/transactions_shunt.hpp"
#include "list.hpp"

namespace {

/// \tparam Sliced  a slice may end at each step along the list
template <bool Sliced>
class list {
  struct node : shunt::in_thread_cache {
    node(long k, node* n) : key(k), next(n) {}
    const long key;
    shunt::tvar<node*> next;
  };
  using link = shunt::tvar<node*>;

  /// The link that leads to k, or to where it would stand; and what it leads to.
  template <typename Tx>
  static std::pair<link*, node*> find(Tx& t, link& from, long k) {
    link* at = &from;
    node* n = t.read(*at);
    while (n != nullptr && n->key < k) {
      if constexpr (Sliced) bench::slices::end_if_over();
      at = &n->next;
      n = t.read(*at);
    }
    return {at, n};
  }

 public:
  ~list() {
    for (node* n = head_.load(); n != nullptr;) {
      node* const next = n->next.load();
      delete n;
      n = next;
    }
  }
  bool contains(long k) {
    return in_slices([&] {
      return shunt::snapshot([&](shunt::ro_tx& t) {
        const auto found = find(t, head_, k).second;
        return found != nullptr && found->key == k;
      });
    });
  }
  bool insert(long k) {
    return in_slices([&] {
      return shunt::atomically([&](shunt::tx& t) {
        const auto [at, found] = find(t, head_, k);
        if (found != nullptr && found->key == k) return false;
        t.write(*at, t.make<node>(k, found));
        return true;
      });
    });
  }
  bool remove(long k) {
    return in_slices([&] {
      return shunt::atomically([&](shunt::tx& t) {
        const auto [at, found] = find(t, head_, k);
        if (found == nullptr || found->key != k) return false;
        t.write(*at, t.read(found->next));
        t.destroy(found);
        return true;
      });
    });
  }
  [[nodiscard]] long count() const {
    long n = 0;
    for (const node* at = head_.load(); at != nullptr; ++n) {
      const node* const next = at->next.load();
      if (next != nullptr && next->key <= at->key) return -1;
      at = next;
    }
    return n;
  }

 private:
  template <typename Transaction>
  [[gnu::always_inline]] static bool in_slices(const Transaction& transaction) {
    if constexpr (Sliced) return bench::slices::run(transaction);
    return transaction();
  }

  link head_{nullptr};
};

}  // namespace

int main(int argc, char** argv) {
  return bench::sliced(bench_parse(argc, argv)) ? bench::list_operations<bench::shunt_fibers, list<true>>(argc, argv)
                                                : bench::list_operations<bench::shunt_fibers, list<false>>(argc, argv);
}
