// Requests, their replies, payloads, and messages that are values.
#include <shunt/pgas.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pgas = shunt::pgas;

namespace {

struct note {
  const char* text;
  int number;
};
struct plain_note {
  char text[16];
  int number;
};

struct log : pgas::selector<log, note, plain_note, pgas::varying<char>, pgas::varying<const char*>> {
  explicit log(pgas::pe& me) : selector(me) {}
  void process(note n) { seen += n.number; }
  void process(plain_note n) { seen += n.number; }
  void process(std::string_view text) { seen += static_cast<long>(text.size()); }
  void process(std::span<const char* const> texts) { seen += static_cast<long>(texts.size()); }
  long seen = 0;
};

void ask(pgas::pe& me) {
  pgas::symmetric<std::vector<long>> table(me, 100);
  pgas::actor_of reader(table);
  std::vector<long> found(100);
  long one = 1;
  long* const into = &found[0];
  reader.ask(
      0, [at = &one](const auto& there) { return there[0] + *at; },  // wrong: of ask() captures the pointer
      [into](auto&, long value) { *into = value; });
  // The reply runs here: it may refer to what is here.
  reader.ask(0, [](const auto& there) { return there[0]; }, [&found](auto&, long value) { found[1] = value; });
  reader.ask(0, [one](const auto& there) { return there[0] + one; }, [&](auto&, long v) { found[2] = v + one; });
  reader.ask(
      0, [](const auto& there) { return there.data(); },  // wrong: holds a pointer of the PE that answers
      [](auto&, const long*) {});
  found[3] = reader.fetch(0, [at = &one](const auto& there) { return there[0] + *at; });  // wrong: of fetch()
  found[4] = reader.fetch(0, [one](const auto& there) { return there[0] + one; });
  found[5] = reader.fetch(0, [](const auto& there) -> const long& { return there[0]; });
  reader.finish();
}

void payloads(pgas::pe& me) {
  pgas::symmetric<long> sum(me);
  pgas::actor_of adder(sum);
  const std::string_view words[] = {"a", "b"};
  const long numbers[] = {1, 2};
  adder.send(0, std::span<const std::string_view>(words),  // wrong: the payload's items of type
             [](long& s, std::span<const std::string_view> all) { s += static_cast<long>(all.size()); });
  adder.send(0, std::span<const long>(numbers), [](long& s, std::span<const long> all) { s += all[0]; });
  adder.finish();
}

void values(pgas::pe& me) {
  log l(me);
  l.send<0>(0, {"text", 1});  // wrong: the message of send() has the type note
  l.send<1>(0, {"text", 1});
  l.send<2>(0, std::span<const char>("text", 4));
  l.send<2>(0, {'a', ' '}, std::span<const char>("text", 4));
  const char* const texts[] = {"a", "b"};
  l.send<3>(0, {"front"}, std::span<const char* const>(texts));  // wrong: the payload's items of type
  l.finish();
}

}  // namespace

int main(int argc, char** argv) {
  return pgas::launch(argc, argv, [](pgas::pe& me) {
    ask(me);
    payloads(me);
    values(me);
  });
}
