// Messages of varying length: text, items, and captures in front of them.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <shunt/pgas.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pgas = shunt::pgas;
using shunt::pgas::actor_of;

namespace {

struct shelf {
  std::vector<std::string> words;
  std::vector<double> sums = std::vector<double>(8);
};

template <class F>
void in_pieces(std::span<const double> all, F f) {
  for (std::size_t at = 0; at < all.size(); at += 10) f(at, all.subspan(at, 10));
}

void fill(pgas::pe& me, pgas::symmetric<shelf>& shelves) {
  const std::string name = "PE";
  std::vector<double> numbers(100);
  std::iota(numbers.begin(), numbers.end(), 1.0);
  actor_of sender(shelves);
  sender.send(0, "literal", [](shelf& s, std::string_view w) { s.words.emplace_back(w); });
  sender.send(0, name, [](shelf& s, auto text) { s.words.emplace_back(text); });
  sender.send(0, std::string_view(name).substr(1),
              [mark = '#'](shelf& s, std::string_view w) { s.words.push_back(mark + std::string(w)); });
  for (int to = 0; to < me.count(); ++to) {
    // Each piece with what it is worth.
    in_pieces(numbers, [&](auto at, auto piece) {
      sender.send(to, piece, [worth = at == 0 ? 2.0 : 1.0, more = 0.5](shelf& s, std::span<const double> items) {
        s.sums[0] += worth * std::accumulate(items.begin(), items.end(), more);
      });
    });
    sender.send(to, std::span<const double>(numbers), [](auto& s, const auto& items) { s.sums[1] += items.back(); });
  }
  sender.finish();
}

}  // namespace

int main(int argc, char** argv) {
  return pgas::launch(argc, argv, [](pgas::pe& me) {
    pgas::symmetric<shelf> shelves(me);
    fill(me, shelves);
    const auto n = static_cast<std::size_t>(me.count());
    const auto& words = shelves->words;
    if (me.index() == 0) {
      const auto of = [&words](const char* w) { return static_cast<std::size_t>(std::ranges::count(words, w)); };
      if (words.size() != 3 * n || of("literal") != n || of("PE") != n || of("#E") != n) throw shunt::error("words");
    }
    const double one = (5050 + 55 + 0.5 * 11) * static_cast<double>(n);  // the first piece counts twice
    if (shelves->sums[0] != one || shelves->sums[1] != 100 * static_cast<double>(n)) throw shunt::error("sums");
    if (me.index() == 0) std::printf("%zu words\n", words.size() / n);
  });
}
