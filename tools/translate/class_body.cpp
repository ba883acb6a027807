#include "class_body.hpp"

#include <algorithm>

#include "class_check.hpp"

namespace shunt::translate::class_form {

namespace {

constexpr std::size_t line_length = 120;

/// The first of some names that a handler's letters do not have.
std::string unused(const source& s, const handler& h, std::initializer_list<const char*> names) {
  const auto known = identifiers(s.letters(h.lambda->getSourceRange()));
  for (const auto* name : names) {
    if (!known.contains(name)) return name;
  }
  std::string name = *(names.end() - 1);
  while (known.contains(name)) name += '_';
  return name;
}

bool placeholder(clang::QualType type) { return type->isDependentType() || type->isUndeducedType(); }

class writer {
 public:
  writer(const source& s, const plan& p, const pieces& inner) : s_(s), p_(p), inner_(inner) {}

  std::string make() {
    for (const auto& m : p_.mailboxes) {
      if (m.what.kind != message_kind::payload) structure(m.first);
      if (m.what.kind == message_kind::ask) structure(m.kept);
    }
    text_ += "/// The messages of `" + p_.of->variable->getNameAsString() + "` in " + p_.of->outer->getNameAsString() +
             ".\n" + head();
    for (const auto& m : p_.mailboxes) handle(m);
    for (const auto& m : p_.members) {
      text_ += "  " + std::string(m.constant ? "const " : "") + m.type + "& " + m.name + ";\n";
    }
    return text_ + "};\n";
  }

 private:
  void structure(const record& r) {
    if (r.bare) return;
    text_ += "struct " + r.name + " {";
    for (const auto& f : r.fields) text_ += "\n  " + f.type + (f.reference ? "& " : " ") + f.name + ';';
    text_ += r.fields.empty() ? "};\n" : "\n};\n";
  }

  [[nodiscard]] std::string carried(const mailbox& m) const {
    if (m.what.kind == message_kind::payload) return p_.of->qualifier + "varying<" + m.item + '>';
    if (m.what.kind == message_kind::one_way) return m.first.type();
    return p_.of->qualifier + "asking<" + m.first.type() + ", " + m.kept.type() + ", " + m.reply + '>';
  }

  /// `struct s : pgas::selector<s, …> {`, in as many lines as it takes.
  [[nodiscard]] std::string head() const {
    const std::string base = p_.of->qualifier + (p_.mailboxes.size() == 1 ? "actor<" : "selector<");
    std::string one_line = "struct " + p_.name + " : " + base + p_.name;
    for (const auto& m : p_.mailboxes) one_line += ", " + carried(m);
    one_line += "> {\n";
    if (one_line.size() <= line_length) return one_line;
    const std::string start = "    : " + base, next(start.size(), ' ');
    std::string all = "struct " + p_.name + '\n', line = start + p_.name;
    for (const auto& m : p_.mailboxes) {
      const auto word = carried(m);
      if (line.size() + word.size() + 5 > line_length) {
        all += line + ",\n", line = next + word;
      } else {
        line += ", " + word;
      }
    }
    return all + line + "> {\n";
  }

  void handle(const mailbox& m) {
    const auto which = p_.mailboxes.size() > 1 && m.what.kind != message_kind::ask
                           ? p_.of->qualifier + "mailbox_index<" + std::to_string(m.what.mailbox) + '>'
                           : std::string();
    std::vector<std::string> parameters, locals;
    if (!which.empty()) parameters.push_back(which);
    if (m.what.kind == message_kind::payload) {
      take_payload(m, parameters, locals);
    } else {
      take(m.what.first, m.first, "m", parameters, locals);
    }
    const bool ask = m.what.kind == message_kind::ask;
    const bool constant = ask && !m.what.first.here;
    define(ask ? m.reply : result_of(m), "process", m.what.first, parameters, locals, constant);
    if (!ask) return;
    parameters.clear(), locals.clear();
    take(m.what.reply, m.kept, "kept", parameters, locals);
    if (m.what.reply.extra) parameters.push_back(extra(m.what.reply, m.reply, true));
    define("void", "replied", m.what.reply, parameters, locals, false);
  }

  /// What a one-way handler returns is dropped; but it may have a return statement.
  [[nodiscard]] std::string result_of(const mailbox& m) const {
    const auto type = m.what.first.lambda->getCallOperator()->getReturnType();
    return type->isVoidType() || !returns_value(m.what.first.lambda->getBody()) ? "void" : "auto";
  }
  static bool returns_value(const clang::Stmt* s) {
    if (!s || llvm::isa<clang::LambdaExpr>(s)) return false;
    const auto* r = llvm::dyn_cast<clang::ReturnStmt>(s);
    if (r && r->getRetValue()) return true;
    return std::ranges::any_of(s->children(), [](const clang::Stmt* c) { return returns_value(c); });
  }

  /// The parameter for a lambda's captures, and the captures' names.
  void take(const handler& h, const record& r, const char* plain, std::vector<std::string>& parameters,
            std::vector<std::string>& locals) const {
    if (r.bare) {
      const auto& f = r.fields.front();
      parameters.push_back("const " + f.type + (f.known->isClassType() || f.known->isStructureType() ? "& " : " ") +
                           f.capture);
      return;
    }
    parameters.push_back("const " + r.name + '&');
    if (r.fields.empty()) return;
    const auto name = unused(s_, h, {plain, "message"});
    parameters.back() += ' ' + name;
    if (r.fields.size() > 1 && !keeps_lambdas(p_, h)) {
      std::string all;
      for (const auto& f : r.fields) all += (all.empty() ? "" : ", ") + f.capture;
      locals.push_back("const auto& [" + all + "] = " + name + ';');
      return;
    }
    for (const auto& f : r.fields) {
      locals.push_back((f.reference ? "auto& " : "const auto& ") + f.capture + " = " + name + '.' + f.name + ';');
    }
  }

  /// Captures stand in front of the payload's items.
  void take_payload(const mailbox& m, std::vector<std::string>& parameters, std::vector<std::string>& locals) const {
    const auto& h = m.what.first;
    const auto view = m.item == "char" ? "std::string_view" : "std::span<const " + m.item + '>';
    if (m.first.fields.empty()) return parameters.push_back(extra(h, view, false));
    const auto name = unused(s_, h, {"message", "captures_and_payload"});
    parameters.push_back(view + ' ' + name);
    for (std::size_t i = 0; i < m.first.fields.size(); ++i) {
      locals.push_back("const auto " + m.first.fields[i].capture + " = " + name + '[' + std::to_string(i) + "];");
    }
    if (!h.extra->getIdentifier()) return;
    const auto rest = m.item == "char" ? ".substr(" : ".subspan(";
    locals.push_back(s_.letters(h.extra->getSourceRange()) + " = " + name + rest +
                     std::to_string(m.first.fields.size()) + ");");
  }

  /// A payload's or reply's parameter as the lambda has it, but with its type where that is `auto`.
  [[nodiscard]] std::string extra(const handler& h, const std::string& type, bool by_reference) const {
    const auto written = h.extra->getType();
    if (!placeholder(written)) return s_.letters(h.extra->getSourceRange());
    const bool reference = by_reference && written->isReferenceType();
    const bool constant = reference || written.getNonReferenceType().isConstQualified();
    const auto name = h.extra->getNameAsString();
    return (constant ? "const " : "") + type + (reference ? "&" : "") + (name.empty() ? "" : ' ' + name);
  }

  void define(const std::string& result, const std::string& name, const handler& h, std::vector<std::string> parameters,
              std::vector<std::string> locals, bool constant) {
    if (h.uses_from) parameters.push_back("int " + sender_in(s_, h));
    std::string head = result + ' ' + name + '(';
    for (std::size_t i = 0; i < parameters.size(); ++i) head += (i == 0 ? "" : ", ") + parameters[i];
    head += constant ? ") const" : ")";
    for (std::size_t i = 0; i < h.parts.size(); ++i) {
      const auto& m = p_.members[i];
      if (h.parts[i] && !m.direct) locals.push_back(s_.letters(h.parts[i]->getSourceRange()) + " = " + m.name + ';');
    }
    text_ += "  " + head + ' ' + body(h, locals) + '\n';
  }

  [[nodiscard]] std::string body(const handler& h, const std::vector<std::string>& locals) const {
    const auto where = bytes_of(s_, h.lambda->getBody()->getSourceRange());
    const auto text = with_plain_ends(inner_.text(where));
    const auto indent = s_.indent_at(where.second - 1);
    if (locals.empty()) return moved(text, indent, "  ");
    std::string all = "{";
    const auto inside = text.substr(1, text.size() - 2);
    const auto end = inside.find('\n');
    const auto first = std::string(trimmed(inside.substr(0, end)));
    // A comment behind the brace stays there.
    const bool comment = end != std::string::npos && has_comment(first) && identifiers(first).empty() &&
                         (first.starts_with("//") || (first.starts_with("/*") && first.ends_with("*/")));
    if (comment) all += inside.substr(0, end);
    for (const auto& l : locals) all += "\n    " + l;
    if (!first.empty() && !comment) all += "\n    " + first;
    if (end == std::string::npos) return all + "\n  }";
    return all + moved(inside.substr(end) + '}', indent, "  ");
  }

  const source& s_;
  const plan& p_;
  const pieces& inner_;
  std::string text_;
};

}  // namespace

std::string own(const handler& h, const std::string& member) {
  return declared_in(h.lambda).contains(member) ? "this->" + member : member;
}

std::string sender_in(const source& s, const handler& h) {
  const auto uses = free_identifiers(s.letters(h.lambda->getSourceRange()));
  std::string name = "from";
  while (uses.contains(name)) name += '_';
  return name;
}

std::string class_text(const source& s, const plan& p, const pieces& inner) { return writer(s, p, inner).make(); }

}  // namespace shunt::translate::class_form
