// What stays as it is, and why. One actor amid them becomes a class.
#include <cstdio>
#include <shunt/pgas.hpp>
#include <string>
#include <vector>

namespace pgas = shunt::pgas;
using part = std::vector<long>;

namespace shunt::elsewhere {
inline long done(long x) { return x; }
}  // namespace shunt::elsewhere
using shunt::elsewhere::done;

// refused: `a` refers to an actor made elsewhere: only an actor that is a local variable becomes a class
static void send_through(pgas::actor_of<part>& a) {
  a.send(0, [](part& p) { p[0] += 1; });
}

struct owner {
  explicit owner(pgas::symmetric<part>& table) : member(table) {}
  void run(pgas::symmetric<part>& table) {
    member.send(0, [](part& p) { p[0] += 1; });
    member.finish();
    // refused: the actor is made in a member function, whose handlers may use names of its class: make it in a function
    //   of a namespace
    pgas::actor_of a(table);
    a.send(0, [](part& p) { p[0] += 1; });
    a.finish();
  }
  // refused: `member` is a member of a class: only an actor that is a local variable becomes a class of its own
  pgas::actor_of<part> member;
};

struct adder {
  long by;
  void operator()(part& p) const { p[0] += by; }
};

static void uses(pgas::symmetric<part>& table) {
  pgas::actor_of passed(table);
  // refused: `passed` is used otherwise than by its member functions, and then its type matters: the actor stays as it
  //   is
  send_through(passed);
  passed.finish();

  pgas::actor_of objects(table);
  // refused: what is sent is no lambda that is written in the call: write it there
  objects.send(0, adder{1});
  const auto later = [](part& p) { p[0] += 1; };
  // refused: what is sent is no lambda that is written in the call: write it there
  objects.send(0, later);
  objects.finish();

  pgas::actor_of fetches(table);
  // refused: fetch() has no class form: ask() for the value, or keep the lambda form
  static_cast<void>(fetches.fetch(0, [](part& p) { return p[0]; }));
  fetches.finish();

  auto chosen = pgas::make_selector<2>(table);
  // refused: send_through() chooses a mailbox while the program runs, and each lambda gets a mailbox of its own: use
  //   send()
  chosen.send_through(1, 0, [](part& p) { p[0] += 1; });
  chosen.finish();
}

static void handlers(pgas::symmetric<part>& table) {
  struct local {
    long by;
  };
  static constexpr long two = 2;
  pgas::actor_of types(table);
  // refused: the type of `l` is local to a function, and has no name before the function: use a type of a namespace
  types.send(0, [l = local{1}](part& p) { p[0] += l.by; });
  types.finish();
  pgas::actor_of names(table);
  // refused: a handler uses `two`, which a class before the function does not know: capture it, or declare it before
  //   the function
  names.send(0, [](part& p) { p[0] += two; });
  names.finish();
  pgas::actor_of hidden(table);
  // refused: the handler uses `done`, which is a member of every class of this kind: qualify the name
  hidden.send(0, [](part& p) { p[0] += done(1); });
  hidden.finish();
  pgas::actor_of comment(table);
  // refused: a comment stands before the handler's body, and would be lost: move it into the body
  comment.send(0, [](part& p /* all of it */) { p[0] += 1; });
  comment.finish();
  pgas::actor_of generic(table);
  generic.send(0, [](auto& p) {
    // refused: `if constexpr` in a handler with `auto` parameters means another thing outside of a template: name the
    //   parameters' types
    if constexpr (requires { p.nothing(); }) p.nothing();
    p[0] += 1;
  });
  generic.finish();
  pgas::actor_of mixed(table);
  const std::string_view ab = "ab";
  // refused: `by` is captured in front of a payload of char, but is of type long: a class carries items of one type;
  //   convert it to theirs
  mixed.send(0, ab, [by = 1L](part& p, std::string_view s) { p[0] += by * static_cast<long>(s.size()); });
  mixed.finish();
  pgas::actor_of directive(table);
  // refused: a preprocessor directive stands in the handler, of which only one way was read: put it outside
  directive.send(0, [](part& p) {
#ifdef NEVER
    p[0] += 5;
#endif
    p[0] += 1;
  });
  directive.finish();
  pgas::actor_of passes_here(table);
  passes_here.send(0, [](part& p, auto& here) {
    const auto index_of = [](const auto& h) { return h.index(); };
    // refused: `here` is passed on, and a class has nothing like it: send from the handler itself
    p[0] += 1 + index_of(here);
  });
  passes_here.finish();
  pgas::actor_of copies_here(table);
  copies_here.send(0, [](part& p, auto& here) {
    // refused: `here` is captured by copy, and a class would be captured by its address: capture by reference
    const auto index = [=] { return here.index(); };
    p[0] += 1 + index();
  });
  copies_here.finish();
  auto ends = pgas::make_selector<2>(table);
  ends.send<1>(0, [](part& p) { p[0] += 1; });
  // refused: done() of a mailbox through which no lambda is sent: the class does not have it; remove the call
  ends.done<0>();
  ends.finish();
  // refused: the mailbox_order names mailboxes that are not those of the class, which has one for each lambda: send one
  //   lambda through each mailbox
  auto ordered = pgas::make_selector<2>(pgas::mailbox_order{{1, {0}}}, table);
  for (int i = 0; i < 2; ++i) ordered.send<0>(0, [](part& p) { p[0] += 1; });
  ordered.finish();
  pgas::actor_of own_types(table);
  // refused: the handler is a template with parameters or conditions of its own, which a class does not have: write
  //   `auto` parameters, or their types
  own_types.send(0, []<class P>(P& p) { p[0] += sizeof(P) > 0; });
  own_types.finish();
  pgas::actor_of returns(table);
  // refused: the handler of a message names the type that it returns, and nothing takes what it returns: remove the
  //   type
  returns.send(0, [](part& p) -> long { return ++p[0]; });
  returns.finish();
  pgas::actor_of becomes_a_class(table);
  becomes_a_class.send(0, [](part& p) { p[0] += 1; });
  becomes_a_class.finish();
}

static void directives(pgas::symmetric<part>& table) {
  // refused: `using namespace` stands in the function, and a class before it would not see it: move it before the
  //   function
  using namespace shunt::pgas;
  actor_of a(table);
  a.send(0, [](part& p) { p[0] += 1; });
  a.finish();
}

template <class T>
void in_template(pgas::symmetric<part>& table, T by) {
  pgas::actor_of a(table);
  // refused: the type of `by` depends on a template parameter, which a class before the function does not know: convert
  //   it to a type with a name
  a.send(0, [by](part& p) { p[0] += by; });
  a.finish();
  pgas::actor_of b(table);
  // refused: a handler uses `T`, which a class before the function does not know: capture it, or declare it before the
  //   function
  b.send(0, [](part& p) { p[0] += T{1}; });
  b.finish();
}

#define FUNCTION(name) static void name(pgas::symmetric<part>& table)
FUNCTION(by_macro) {
  // refused: a macro writes the head of the function, and a class cannot stand before it: move the actor into a
  //   function of its own
  pgas::actor_of a(table);
  a.send(0, [](part& p) { p[0] += 1; });
  a.finish();
}

#define ADD(object) object.send(0, [](part& p) { p[0] += 1; })
static void sends_by_macro(pgas::symmetric<part>& table) {
  pgas::actor_of a(table);
  // refused: this is written by a macro, whose text cannot be moved: write it out
  ADD(a);
  a.finish();
}

int main(int argc, char** argv) {
  return pgas::launch(argc, argv, [](pgas::pe& me) {
    pgas::symmetric<part> table(me, 1);
    owner(table).run(table);
    uses(table);
    handlers(table);
    directives(table);
    in_template(table, 1);
    by_macro(table);
    sends_by_macro(table);
    const long sum = me.sum((*table)[0]) / me.count();
    if (sum != 28) throw shunt::error("wrong: " + std::to_string(sum));
    if (me.index() == 0) std::printf("%ld\n", sum);
  });
}
