#include "class_plan.hpp"

#include <algorithm>
#include <iterator>

#include "class_check.hpp"
#include "vocabulary.hpp"

namespace shunt::translate::class_form {

namespace {

constexpr std::size_t most_mailboxes = 64;  // of a selector

class planner {
 public:
  planner(const source& s, const types& t, const actor& a, const std::set<std::string>& hidden)
      : s_(s), types_(t), a_(a), hidden_(hidden) {}

  plan make() {
    p_.of = &a_;
    p_.name = fresh(a_.outer->getNameAsString() + '_' + a_.variable->getNameAsString());
    number_mailboxes();
    note_senders();
    for (auto& m : p_.mailboxes) describe(m);
    choose_members();
    return std::move(p_);
  }

 private:
  /// A name that the file does not know; from now on it does.
  [[nodiscard]] std::string fresh(const std::string& wanted) const {
    auto& names = s_.context().Idents;
    const auto taken = [&](const std::string& name) {
      return std::ranges::any_of(std::vector<std::string>{"", "_message", "_message0", "_request", "_request0"},
                                 [&](const auto& tail) { return names.find(name + tail) != names.end(); });
    };
    std::string name = wanted;
    for (int i = 2; taken(name); ++i) name = wanted + '_' + std::to_string(i);
    names.get(name);
    return name;
  }

  /// Old mailbox by old mailbox; in each, the outer lambda before those in it.
  void number_mailboxes() {
    auto sorted = a_.messages;
    std::ranges::stable_sort(sorted, {}, &message::old_mailbox);
    const auto at = a_.variable->getLocation();
    if (sorted.empty()) throw refusal{at, "no lambda is sent through the actor, so a class would have no mailbox"};
    if (sorted.size() > most_mailboxes) {
      throw refusal{at, "the actor handles more than 64 lambdas, and a class has 64 mailboxes: divide it"};
    }
    for (auto& m : sorted) {
      m.mailbox = static_cast<unsigned>(p_.mailboxes.size());
      p_.mailboxes.push_back({m, {}, {}, {}, {}});
    }
    if (a_.order && !p_.numbers_stay()) {
      throw refusal{a_.order->getBeginLoc(),
                    "the mailbox_order names mailboxes that are not those of the class, which "
                    "has one for each lambda: send one lambda through each mailbox"};
    }
  }

  /// Which handlers ask for the PE that sent the message.
  void note_senders() {
    for (auto& m : p_.mailboxes) {
      for (auto* h : {&m.what.first, &m.what.reply}) {
        h->uses_from = std::ranges::any_of(a_.here_calls,
                                           [h](const here_call& c) { return c.of == h->lambda && c.name == "from"; });
      }
    }
  }

  void describe(mailbox& m) {
    for (const auto* h : handlers_of(m.what)) check_handler(s_, a_, *h, hidden_);
    const auto number = p_.mailboxes.size() > 1 ? std::to_string(m.what.mailbox) : "";
    const bool ask = m.what.kind == message_kind::ask;
    m.first.name = p_.name + (ask ? "_request" : "_message") + number;
    m.first.fields = fields_of(m.what.first.lambda, false);
    const auto asks = std::ranges::count(a_.messages, message_kind::ask, &message::kind);
    m.first.bare = may_be_bare(m.first) && (!ask || asks == 1);
    if (m.what.kind == message_kind::payload) describe_payload(m);
    const auto* l = m.what.first.lambda;
    if (!ask && l->hasExplicitResultType() && !l->getCallOperator()->getReturnType()->isVoidType()) {
      throw refusal{l->getBeginLoc(),
                    "the handler of a message names the type that it returns, and nothing takes what "
                    "it returns: remove the type"};
    }
    if (!ask) return;
    m.kept.name = p_.name + "_kept" + number;
    m.kept.fields = fields_of(m.what.reply.lambda, true);
    m.kept.bare = may_be_bare(m.kept) && asks == 1;
    m.reply = reply_of(m);
  }

  static bool may_be_bare(const record& r) {
    return r.fields.size() == 1 && !r.fields[0].reference && !r.fields[0].known->isPointerType();
  }

  std::vector<field> fields_of(const clang::LambdaExpr* l, bool references) const {
    std::vector<field> all;
    std::set<std::string> in_types;
    for (unsigned i = 0; i < l->capture_size(); ++i) {
      const auto& c = *(l->capture_begin() + i);
      const auto* var = c.getCapturedVar();
      field f;
      f.capture = f.name = var->getNameAsString();
      f.reference = c.getCaptureKind() == clang::LCK_ByRef;
      if (f.reference && !references) {
        throw refusal{l->getBeginLoc(), "the handler captures `" + f.name +
                                            "` by reference, which means nothing on "
                                            "another PE: capture its value"};
      }
      f.known = types_.captured(l, i);
      f.type = types_.name(f.known, a_.outer, c.getLocation(), "`" + f.name + "`");
      if (l->isInitCapture(&c)) f.value = value_of(llvm::cast<clang::VarDecl>(var));
      if (f.reference && constant(var)) f.type = "const " + f.type;
      in_types.merge(identifiers(f.type));
      all.push_back(std::move(f));
    }
    for (auto& f : all) {
      while (in_types.contains(f.name)) f.name += '_';  // `rows rows;` would change what rows means
    }
    return all;
  }
  static bool constant(const clang::ValueDecl* v) { return v->getType().getNonReferenceType().isConstQualified(); }

  byte_range value_of(const clang::VarDecl* capture) const {
    auto where = bytes_of(s_, capture->getInit()->getSourceRange());
    if (s_.text()[where.first] == '{') ++where.first, --where.second;
    return where;
  }

  std::string reply_of(const mailbox& m) const {
    const auto result = types_.result(m.what.first.lambda);
    if (!result.isNull() && result->isVoidType()) return "void";
    const auto* at = m.what.first.lambda;
    // The reply's handler may spell the type as the program likes it.
    if (m.what.reply.extra && !result.isNull()) {
      const auto taken = m.what.reply.extra->getType().getNonReferenceType().getUnqualifiedType();
      if (!taken->isDependentType() && !taken->isUndeducedType() && same(s_, taken, result)) {
        return types_.name(taken, a_.outer, at->getBeginLoc(), "the reply");
      }
    }
    return types_.name(result, a_.outer, at->getBeginLoc(), "the reply");
  }

  /// T of a std::span<const T>, as the program spells it.
  static clang::QualType spelled_item(clang::QualType span, const clang::ClassTemplateSpecializationDecl* known) {
    auto item = known->getTemplateArgs()[0].getAsType();
    const auto* spelled = span->getAs<clang::TemplateSpecializationType>();
    const bool has = spelled && !spelled->isTypeAlias() && !spelled->template_arguments().empty() &&
                     spelled->template_arguments()[0].getKind() == clang::TemplateArgument::Type;
    if (has) item = spelled->template_arguments()[0].getAsType();
    return item.getUnqualifiedType();
  }

  void describe_payload(mailbox& m) const {
    const auto type = types_.argument(m.what.call, 1);
    const auto at = m.what.call->getArg(1)->getBeginLoc();
    if (type.isNull()) static_cast<void>(types_.name(type, a_.outer, at, "the payload"));
    const auto* record = class_of(type);
    const auto* special = llvm::dyn_cast_or_null<clang::ClassTemplateSpecializationDecl>(record);
    clang::QualType item = s_.context().CharTy;
    const auto name = full_name(record);
    if (special && name == "std::span") {
      item = spelled_item(type, special);
      // The handler may spell them as the program likes it.
      const auto taken = m.what.first.extra->getType().getNonReferenceType();
      const auto* taken_span = llvm::dyn_cast_or_null<clang::ClassTemplateSpecializationDecl>(class_of(taken));
      if (!taken->isDependentType() && taken_span && same(s_, taken.getUnqualifiedType(), type)) {
        item = spelled_item(taken, taken_span);
      }
    } else {
      m.from_letters = name != "std::basic_string_view" && name != "std::basic_string";
    }
    m.item = types_.name(item, a_.outer, at, "the payload's items");
    for (const auto& f : m.first.fields) {
      if (!same(s_, f.known, item)) {
        throw refusal{m.what.first.lambda->getBeginLoc(),
                      "`" + f.capture + "` is captured in front of a payload of " + m.item + ", but is of type " +
                          f.type + ": a class carries items of one type; convert it to theirs"};
      }
    }
  }

  // --- members ---

  struct naming {
    const handler* by;
    const clang::ParmVarDecl* as;
  };

  [[nodiscard]] std::vector<const handler*> all_handlers() const {
    std::vector<const handler*> all;
    for (const auto& m : p_.mailboxes) std::ranges::copy(handlers_of(m.what), std::back_inserter(all));
    return all;
  }
  [[nodiscard]] std::string letters_of(const handler& h) const { return s_.letters(h.lambda->getSourceRange()); }

  void choose_members() {
    std::set<std::string> taken = hidden_;  // and what stands in the class besides
    std::vector<std::string> part_types;
    for (std::size_t i = 0; i < a_.parts.size(); ++i) {
      part_types.push_back(types_.name(a_.parts[i], a_.outer, a_.variable->getLocation(), "a part"));
      taken.merge(identifiers(part_types.back()));
    }
    for (const auto& m : p_.mailboxes) {
      taken.merge(identifiers(m.item + ' ' + m.reply + ' ' + p_.name));
      for (const auto* r : {&m.first, &m.kept}) {
        taken.insert(r->name);
        for (const auto& f : r->fields) taken.merge(identifiers(f.type));
      }
    }
    for (std::size_t i = 0; i < a_.parts.size(); ++i) {
      std::vector<naming> names;
      for (const auto* h : all_handlers()) {
        if (h->parts[i]) names.push_back({h, h->parts[i]});
      }
      member m{i, names.empty() ? "" : names.front().as->getNameAsString(), part_types[i]};
      m.constant = !names.empty() && names.front().as->getType().getNonReferenceType().isConstQualified();
      m.direct =
          !names.empty() && agree(names, a_.parts[i]) && !taken.contains(m.name) && !used_by_others(m.name, names);
      if (!m.direct) m.constant = false, m.name = other_name(i, taken);
      taken.insert(m.name);
      p_.members.push_back(std::move(m));
    }
  }

  /// Whether all handlers call a part the same, and take it the same way: by reference, as what it is.
  [[nodiscard]] bool agree(const std::vector<naming>& names, clang::QualType part) const {
    const auto* first = names.front().as;
    const bool constant = first->getType().getNonReferenceType().isConstQualified();
    return std::ranges::all_of(names, [&](const naming& n) {
      const auto type = n.as->getType();
      // A lambda in the handler may capture the parameter, but not a member.
      if (!type->isLValueReferenceType() || keeps_lambdas(p_, *n.by)) return false;
      const auto bare = type.getNonReferenceType();
      const bool generic = bare->getAs<clang::TemplateTypeParmType>() || bare->getAs<clang::AutoType>();
      return n.as->getName() == first->getName() && bare.isConstQualified() == constant &&
             (generic || (!bare->isDependentType() && same(s_, bare.getUnqualifiedType(), part)));
    });
  }
  [[nodiscard]] bool used_by_others(const std::string& name, const std::vector<naming>& names) const {
    return std::ranges::any_of(all_handlers(), [&](const handler* h) {
      const bool has_it = std::ranges::any_of(names, [h](const naming& n) { return n.by == h; });
      return !has_it && identifiers(letters_of(*h)).contains(name);
    });
  }
  [[nodiscard]] std::string other_name(std::size_t part, const std::set<std::string>& taken) const {
    const auto* v = variable(a_.symmetrics[part]);
    auto name = (v ? v->getNameAsString() : "part" + std::to_string(part)) + '_';
    const auto used = [&](const std::string& wanted) {
      return taken.contains(wanted) || std::ranges::any_of(all_handlers(), [&](const handler* h) {
               return identifiers(letters_of(*h)).contains(wanted);
             });
    };
    while (used(name)) name += '_';
    return name;
  }

  const source& s_;
  const types& types_;
  const actor& a_;
  const std::set<std::string>& hidden_;
  plan p_;
};

}  // namespace

bool keeps_lambdas(const plan& p, const handler& h) {
  const auto keeps = [&p](const auto& self, const clang::Stmt* s) -> bool {
    if (!s) return false;
    if (llvm::isa<clang::LambdaExpr>(s)) {
      return std::ranges::none_of(p.mailboxes, [s](const mailbox& m) { return m.what.first.lambda == s; });
    }
    return std::ranges::any_of(s->children(), [&self](const clang::Stmt* c) { return self(self, c); });
  };
  return keeps(keeps, h.lambda->getBody());
}

std::vector<const handler*> handlers_of(const message& m) {
  if (m.kind == message_kind::ask) return {&m.first, &m.reply};
  return {&m.first};
}

std::vector<unsigned> plan::of_old(unsigned old_mailbox) const {
  std::vector<unsigned> all;
  for (const auto& m : mailboxes) {
    if (m.what.old_mailbox == old_mailbox) all.push_back(m.what.mailbox);
  }
  return all;
}

bool plan::numbers_stay() const {
  return mailboxes.size() == of->mailboxes &&
         std::ranges::all_of(mailboxes, [](const mailbox& m) { return m.what.mailbox == m.what.old_mailbox; });
}

const mailbox& plan::of_call(const clang::CallExpr* call) const {
  return *std::ranges::find(mailboxes, call, [](const mailbox& m) { return m.what.call; });
}

plan planned(const source& s, const types& t, const actor& a, const std::set<std::string>& hidden) {
  return planner(s, t, a, hidden).make();
}

}  // namespace shunt::translate::class_form
