// Reads of containers inside of supersteps.
#include <shunt/pgas.hpp>
#include <shunt/pgas/containers.hpp>

#include <optional>
#include <string>
#include <vector>

namespace pgas = shunt::pgas;

namespace {

struct held {
  explicit held(pgas::pe& me) : words(me), others(me) {}
  pgas::map<std::string, long> words, others;
};

void read_in_supersteps(pgas::pe& me) {
  pgas::map<std::uint64_t, long> counts(me);
  pgas::set<std::uint64_t> seen(me);
  pgas::bag<long> work(me);
  pgas::array<long> table(me, 100);
  held h(me);
  const std::vector<std::uint64_t> keys{1, 2};
  std::vector<std::optional<long>> values(2);
  pgas::superstep(me, [&] {
    if (counts.find(5)) ++counts[5];                              // wrong: find() is called inside of a superstep
    counts.gather(keys, std::span<std::optional<long>>(values));  // wrong: gather() is called inside of a superstep
    if (seen.contains(keys)[0]) seen.insert(6);                   // wrong: contains() is called inside of a superstep
    for (auto [key, n] : counts.local()) seen.insert(key);        // wrong: local() reads `counts` inside of a superstep
    if (seen.contains_local(7)) seen.erase(7);                    // wrong: contains_local() reads `seen`
    ++h.words["x"];
    for (auto [word, n] : h.words.local()) counts[n] += 1;  // wrong: local() reads `words` inside of a superstep
    for (auto [word, n] : h.others.local()) counts[n] += 1;
  });
  work.drain([&](long item) {
    work.insert(item - 1);
    table[5] += item;
    if (table[6] > 5) work.insert(3);  // wrong: an array's element is read inside of a superstep
    work.drain([](long) {});           // wrong: drain() begins a superstep inside of another
  });

  for (auto [key, n] : counts.local()) values[0] = n;
  if (counts.find(5) && seen.contains(keys)[0]) values[1] = 1;
  pgas::superstep(me, [&] {
    for (const std::uint64_t key : seen.local()) ++counts[key];
  });
}

}  // namespace

int main(int argc, char** argv) { return pgas::launch(argc, argv, read_in_supersteps); }
