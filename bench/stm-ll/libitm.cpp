/// Question: what does the compiler's transactional memory (gcc -fgnu-tm, libitm) allow on a sorted list?
#include "list.hpp"

namespace {

class list {
 public:
  ~list() {
    while (head_ != nullptr) {
      node* const next = head_->next;
      delete head_;
      head_ = next;
    }
  }
  bool contains(long k) {
    bool there = false;
    __transaction_atomic {
      node* n = head_;
      while (n != nullptr && n->key < k) n = n->next;
      there = n != nullptr && n->key == k;
    }
    return there;
  }
  bool insert(long k) {
    node* const fresh = new node{k, nullptr};
    bool done = false;
    __transaction_atomic {
      node** at = &head_;
      while (*at != nullptr && (*at)->key < k) at = &(*at)->next;
      done = *at == nullptr || (*at)->key != k;
      if (done) {
        fresh->next = *at;
        *at = fresh;
      }
    }
    if (!done) delete fresh;
    return done;
  }
  bool remove(long k) {
    node* gone = nullptr;
    __transaction_atomic {
      node** at = &head_;
      while (*at != nullptr && (*at)->key < k) at = &(*at)->next;
      gone = nullptr;
      if (*at != nullptr && (*at)->key == k) {
        gone = *at;
        *at = gone->next;
      }
    }
    delete gone;  // libitm's commits wait until no transaction reads it any more
    return gone != nullptr;
  }
  [[nodiscard]] long count() const { return bench::count_in_order(head_); }

 private:
  struct node {
    long key;
    node* next;
  };
  node* head_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) { return bench::list_operations<bench::plain_threads, list>(argc, argv); }
