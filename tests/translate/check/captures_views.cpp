// Values that hold a pointer: views, iterators, references in disguise, structs of them.
#include <shunt/pgas.hpp>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pgas = shunt::pgas;

namespace {

struct plain {
  int a;
  double b[4];
};
struct word {
  std::string_view text;
  int length;
};
struct sentence {
  word first;
};

void send(pgas::pe& me, std::span<const long> items) {
  pgas::symmetric<std::vector<long>> table(me, 100);
  pgas::actor_of updates(table);
  std::vector<long> own(10);
  long one = 1;
  const std::string_view text = "text";
  const auto begin = own.begin();
  const std::reference_wrapper<long> reference(one);
  const sentence said{{"word", 4}};
  const std::optional<const char*> perhaps = "letters";
  const plain numbers{1, {}};
  const std::optional<long> maybe = 5;
  updates.send(0, [items](auto& counts) { counts[0] += items[0]; });           // wrong: captures `items`, whose type
  updates.send(0, [text](auto& counts) { counts[0] += text[0]; });             // wrong: captures `text`, whose type
  updates.send(0, [begin](auto& counts) { counts[0] += *begin; });             // wrong: captures `begin`
  updates.send(0, [reference](auto& counts) { counts[0] += reference; });      // wrong: captures `reference`
  updates.send(0, [said](auto& counts) { counts[0] += said.first.length; });   // wrong: whose type sentence
  updates.send(0, [perhaps](auto& counts) { counts[0] += perhaps ? 1 : 0; });  // wrong: captures `perhaps`

  updates.send(0, [numbers](auto& counts) { counts[0] += numbers.a; });
  updates.send(0, [maybe](auto& counts) { counts[0] += maybe.value_or(0); });
  updates.send(0, [length = text.size()](auto& counts) { counts[0] += static_cast<long>(length); });
  // A payload arrives whole: it is no capture.
  updates.send(0, items, [](auto& counts, std::span<const long> some) { counts[0] += some[0]; });
  updates.send(0, text, [](auto& counts, std::string_view some) { counts[0] += some[0]; });
  updates.finish();
}

// The name of a symmetric object may travel: it is the part of the PE where the handler runs.
void send_names(pgas::pe& me) {
  pgas::symmetric<std::vector<long>> table(me, 100);
  const auto histogram = table.local();
  auto* const handle = &table;
  pgas::actor_of updates(me);
  for (std::size_t spot = 0; spot < 100; ++spot) {
    updates.send(0, [=] { histogram[spot]++; });
    updates.send(0, [=] { (**handle)[spot]++; });  // wrong: captures the pointer `handle`
  }
  updates.finish();
}

}  // namespace

int main(int argc, char** argv) {
  return pgas::launch(argc, argv, [](pgas::pe& me) {
    const std::vector<long> items(5);
    send(me, items);
    send_names(me);
  });
}
