/// `shunt-translate class`: actors whose messages are lambdas become classes whose messages are values.
///
///   counter.send(pe, [spot](auto& counts) { ++counts[spot]; });         counter.send(pe, spot);
///                                                                       void process(std::uint32_t spot) { … }
///
/// class_find.cpp finds the actors and every use of them; class_check.cpp says which handlers mean the same in a class;
/// class_plan.cpp chooses mailboxes, messages and members; class_write.cpp writes. An actor that one of these refuses
/// stays as it is.
///
/// Source: Paul, Hayashi, Chen, Sarkar, "A productive and scalable actor-based programming system for PGAS
/// applications", arXiv:2107.05516, whose translator makes selectors of lambdas.
#include <algorithm>
#include <iterator>
#include <tuple>

#include "class_check.hpp"
#include "class_find.hpp"
#include "class_finish.hpp"
#include "class_plan.hpp"
#include "class_types.hpp"
#include "class_write.hpp"
#include "commands.hpp"
#include "edits.hpp"
#include "source.hpp"

namespace shunt::translate {

namespace {

using namespace class_form;

class translation {
 public:
  explicit translation(const source& s) : s_(s), made_(s), types_(s, made_), hidden_(names_of_selector(s)) {}

  outcome make() {
    auto found = find_actors(s_);
    for (const auto& a : found.actors) {
      auto refused = a.refusals;
      try {
        if (refused.empty()) translate(a);
      } catch (const refusal& r) {
        refused.push_back(r);
      }
      std::ranges::move(refused, std::back_inserter(found.others));
    }
    // The last actor ends first.
    std::ranges::reverse(finishes_);
    for (auto* all : {&changes_, &finishes_}) {
      for (auto& [where, text] : *all) edits_.replace(where.first, where.second, text);
    }
    return {findings(found.others), s_.text(), edits_.apply(s_.text())};
  }

 private:
  void translate(const actor& a) {
    if (hidden_.empty()) {
      throw refusal{a.variable->getLocation(),
                    "pgas::selector, from which the class would derive, is not declared: "
                    "include <shunt/pgas/selector.hpp>"};
    }
    check_place(s_, a);
    const auto p = planned(s_, types_, a, hidden_);
    const bool unfinished = ends_unfinished(a);
    auto all = written(s_, p, unfinished);
    const auto end = bytes_of(s_, a.scope->getSourceRange()).second;
    const auto begin = bytes_of(s_, a.statement->getSourceRange()).first;
    for (auto& c : all) {
      const bool finish = unfinished && c.first.first == c.first.second && begin < c.first.first && c.first.first < end;
      (finish ? finishes_ : changes_).push_back(std::move(c));
    }
  }

  std::vector<finding> findings(std::vector<refusal>& all) const {
    std::vector<finding> said;
    for (auto& r : all) said.push_back(s_.say(r.at, std::move(r.text)));
    const auto order = [](const finding& f) { return std::tie(f.line, f.column, f.text); };
    std::ranges::sort(said, {}, order);
    const auto [first, last] = std::ranges::unique(said, {}, order);
    said.erase(first, last);
    return said;
  }

  const source& s_;
  instances made_;
  types types_;
  std::set<std::string> hidden_;
  changes changes_, finishes_;
  edits edits_;
};

}  // namespace

outcome to_classes(const std::string& file, const compile_options& options) {
  const source s(file, options);
  return translation(s).make();
}

}  // namespace shunt::translate
