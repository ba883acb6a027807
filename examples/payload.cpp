// Messages of varying length: text arrives as a std::string_view, items as a std::span.
#include <shunt/pgas.hpp>

#include <cstdio>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <vector>

namespace {

using counts = std::map<std::string, long, std::less<>>;

// The same in the class form: a mailbox of varying<char> takes text.
struct logbook : shunt::pgas::actor<logbook, shunt::pgas::varying<char>> {
  explicit logbook(shunt::pgas::pe& me) : actor(me) {}
  void process(std::string_view line) { lines.emplace_back(line); }  // the text is gone when process() returns
  std::vector<std::string> lines;
};

}  // namespace

int main(int argc, char** argv) {
  return shunt::pgas::launch(argc, argv, [](shunt::pgas::pe& me) {
    const std::vector<std::string> words{"to", "be", "or", "not", "to", "be", ""};
    const auto owner = [&](std::string_view w) { return static_cast<int>(w.size()) % me.count(); };

    shunt::pgas::symmetric<counts> tally(me);
    shunt::pgas::actor_of words_at(tally);
    for (const auto& w : words) {
      words_at.send(owner(w), std::string_view(w),
                    [](counts& mine, std::string_view word) { ++mine[std::string(word)]; });
    }
    words_at.finish();
    if (me.index() == owner("to") && (*tally)["to"] != 2L * me.count()) throw shunt::error("a word was lost");

    // Captures and a payload: a row of a matrix, with its number.
    shunt::pgas::symmetric<std::vector<double>> sums(me, static_cast<std::size_t>(me.count()));
    shunt::pgas::actor_of rows(sums);
    std::vector<double> row(static_cast<std::size_t>(100 + me.index()));
    std::iota(row.begin(), row.end(), 1.0);
    for (int to = 0; to < me.count(); ++to) {
      rows.send(
          to, std::span<const double>(row),
          [number = static_cast<std::size_t>(me.index())](std::vector<double>& mine, std::span<const double> items) {
            mine[number] = std::accumulate(items.begin(), items.end(), 0.0);
          });
    }
    rows.finish();
    for (std::size_t p = 0; p < sums->size(); ++p) {
      const double n = 100.0 + static_cast<double>(p);
      if ((*sums)[p] != n * (n + 1) / 2) throw shunt::error("a row is not what was sent");
    }

    logbook book(me);
    const std::string line = "PE " + std::to_string(me.index()) + " was here";
    book.send(0, std::span<const char>(line));
    book.finish();
    if (me.index() == 0 && book.lines.size() != static_cast<std::size_t>(me.count()))
      throw shunt::error("a line is missing");
    if (me.index() == 0) std::puts("payload: right");
  });
}
