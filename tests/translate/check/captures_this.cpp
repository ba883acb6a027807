// `this`, captured by name and without it.
#include <shunt/pgas.hpp>

#include <vector>

namespace pgas = shunt::pgas;

class histogram {
 public:
  explicit histogram(pgas::pe& me) : counts_(me, 100), updates_(counts_) {}

  void add(int pe, std::size_t spot) {
    updates_.send(pe, [this, spot](auto& counts) { counts[spot] += weight_; });  // wrong: captures `this`
    updates_.send(pe, [=](auto& counts) { counts[spot] += weight_; });           // wrong: captures `this`
    updates_.send(pe, [=, this](auto& counts) { counts[spot] += weight_; });     // wrong: of send() captures `this`
    // Right: the member's value, or a copy of it by a local variable.
    updates_.send(pe, [spot, weight = weight_](auto& counts) { counts[spot] += weight; });
    const long weight = weight_;
    updates_.send(pe, [=](auto& counts) { counts[spot] += weight; });
    updates_.send(pe, [=](auto& counts) { counts[spot] += unit; });
    // What runs on this PE may use what is here.
    updates_.ask(
        pe, [spot](const auto& counts) { return counts[spot]; }, [this](auto&, long found) { found_ += found; });
    const auto more = [this] { return weight_ + 1; };
    found_ += more();
  }
  void finish() { updates_.finish(); }

 private:
  static constexpr long unit = 1;
  pgas::symmetric<std::vector<long>> counts_;
  pgas::actor_of<std::vector<long>> updates_;
  long weight_ = 1;
  long found_ = 0;
};

int main(int argc, char** argv) {
  return pgas::launch(argc, argv, [](pgas::pe& me) {
    histogram h(me);
    h.add(0, 5);
    h.finish();
  });
}
