#include "class_write.hpp"

#include <algorithm>
#include <optional>

#include "class_body.hpp"
#include "class_pieces.hpp"
#include "vocabulary.hpp"

namespace shunt::translate::class_form {

namespace {

constexpr std::size_t line_length = 120;

class rewriter {
 public:
  rewriter(const source& s, const plan& p) : s_(s), p_(p), a_(*p.of), pieces_(s) {}

  changes make(bool finish_at_end) {
    for (const auto& m : p_.mailboxes) {
      pieces_.replace(bytes_of(s_, m.what.call->getSourceRange()), [this, &m] { return sent(m); });
    }
    for (const auto& c : a_.here_calls) {
      pieces_.replace(bytes_of(s_, c.call->getSourceRange()), [this, &c] { return asked_of_here(c); });
    }
    for (const auto* d : a_.dones) add_done(d);
    pieces_.replace(bytes_of(s_, a_.statement->getSourceRange()), [this] { return declared(); });
    add_class();
    if (finish_at_end) add_finish();
    return pieces_.changes();
  }

 private:
  [[nodiscard]] std::string text(const clang::Stmt* s) const { return pieces_.text(bytes_of(s_, s->getSourceRange())); }
  [[nodiscard]] std::string name() const { return a_.variable->getNameAsString(); }

  [[nodiscard]] const handler& handler_of(const clang::LambdaExpr* l) const {
    for (const auto& m : p_.mailboxes) {
      for (const auto* h : handlers_of(m.what)) {
        if (h->lambda == l) return *h;
      }
    }
    throw refusal{l->getBeginLoc(), "this handler is unknown"};
  }

  // --- the variable ---

  [[nodiscard]] std::string declared() const {
    const auto range = bytes_of(s_, a_.statement->getSourceRange());
    if (has_comment(s_.text().substr(range.first, range.second - range.first))) {
      throw refusal{a_.variable->getLocation(),
                    "a comment stands amid the declaration, and would be lost: move it away"};
    }
    const auto object = [this](const clang::Expr* e) { return variable(e) ? text(e) : '(' + text(e) + ')'; };
    std::string of = a_.parts.empty() ? text(a_.me) : object(a_.symmetrics[0]) + ".owner()";
    if (a_.order) of += ", " + text(a_.order);
    std::string all = p_.name + ' ' + name() + "{{" + of + '}';
    for (const auto& m : p_.members) all += ", *" + object(a_.symmetrics[m.part]);
    return all + "};";
  }

  /// Where the function begins, its comment and attributes included.
  [[nodiscard]] std::size_t place() const {
    const clang::Decl* outer = a_.outer;
    const auto* f = llvm::dyn_cast<clang::FunctionDecl>(outer);
    if (f && f->getDescribedFunctionTemplate()) outer = f->getDescribedFunctionTemplate();
    const auto begin = s_.manager().getFileOffset(outer->getBeginLoc());
    auto at = s_.line_begin(begin);
    const auto& all = s_.text();
    const auto before = trimmed(std::string_view(all).substr(at, begin - at));
    if (!before.empty() && !before.ends_with("]]") && !before.starts_with("extern")) return begin;
    while (at > 0) {
      const auto above = s_.line_begin(at - 1);
      const auto line = trimmed(std::string_view(all).substr(above, at - above));
      if (line.starts_with("//") || (line.starts_with("[[") && line.ends_with("]]"))) {
        at = above;
      } else if (line.ends_with("*/")) {
        const auto open = all.rfind("/*", at);
        if (open == std::string::npos || !trimmed(all.substr(s_.line_begin(open), open - s_.line_begin(open))).empty())
          break;
        at = s_.line_begin(open);
      } else {
        break;
      }
    }
    return at;
  }

  void add_class() {
    const auto at = place();
    pieces_.replace({at, at}, [this, at] {
      const auto indent = s_.indent_at(at);
      const auto whole = moved('\n' + class_text(s_, p_, pieces_), "", indent);
      return whole.substr(1) + '\n' + (at == s_.line_begin(at) ? "" : indent);
    });
  }

  void add_finish() {
    const auto brace = bytes_of(s_, a_.scope->getSourceRange()).second - 1;
    const auto line = s_.line_begin(brace);
    const bool alone = trimmed(std::string_view(s_.text()).substr(line, brace - line)).empty();
    const auto at = alone ? line : brace;
    const auto indent = s_.indent_at(bytes_of(s_, a_.statement->getSourceRange()).first);
    pieces_.replace(
        {at, at}, [this, alone, indent] { return alone ? indent + name() + ".finish();\n" : name() + ".finish(); "; });
  }

  // --- calls ---

  /// The offset of a call's `(`.
  [[nodiscard]] std::size_t parenthesis(const clang::CallExpr* call) const {
    const auto from = bytes_of(s_, call->getCallee()->getSourceRange()).second;
    const auto end = bytes_of(s_, call->getSourceRange()).second;
    std::optional<std::size_t> at;
    each_token(std::string_view(s_.text()).substr(from, end - from), [&](const token& t) {
      if (!at && s_.text()[from + t.begin] == '(') at = from + t.begin;
    });
    if (!at) throw refusal{call->getBeginLoc(), "this call is written in a way that is not understood"};
    return *at;
  }

  [[nodiscard]] std::string with_mailbox(const mailbox& m, std::string called) const {
    if (p_.mailboxes.size() > 1) called += '<' + std::to_string(m.what.mailbox) + '>';
    return called;
  }

  /// `a.send<1>`, or `send<1>` of the class itself.
  [[nodiscard]] std::string callee(const mailbox& m) const {
    const auto c = *call_of(m.what.call);
    const auto called = std::string(c.name);
    return m.what.within ? with_mailbox(m, own(handler_of(m.what.within), called))
                         : with_mailbox(m, name() + '.' + called);
  }

  [[nodiscard]] std::string values(const record& r) const {
    std::string all;
    for (const auto& f : r.fields) {
      all += (all.empty() ? "" : ", ") + (f.value ? pieces_.text(*f.value) : f.capture);
    }
    return all;
  }
  [[nodiscard]] std::string made(const record& r, bool with_name) const {
    if (r.bare) return values(r);
    return (with_name ? r.name : "") + '{' + values(r) + '}';
  }

  [[nodiscard]] std::string payload(const mailbox& m) const {
    auto items = text(m.what.call->getArg(1));
    if (m.from_letters) items = "std::string_view(" + items + ')';
    if (m.first.fields.empty()) return items;
    return '{' + values(m.first) + "}, " + items;
  }

  struct argument {
    byte_range where;
    std::string becomes;
    bool gone = false;
  };
  [[nodiscard]] std::vector<argument> arguments(const mailbox& m) const {
    std::vector<argument> all;
    for (unsigned i = 0; i < m.what.call->getNumArgs(); ++i) {
      const auto* e = m.what.call->getArg(i);
      if (llvm::isa<clang::CXXDefaultArgExpr>(e)) continue;
      argument a{bytes_of(s_, e->getSourceRange()), {}};
      const auto* l = lambda(e);
      if (l && l == m.what.first.lambda) {
        a.gone = m.what.kind == message_kind::payload;
        a.becomes = a.gone ? "" : made(m.first, m.what.kind == message_kind::ask);
      } else if (l && l == m.what.reply.lambda) {
        a.becomes = made(m.kept, true);
      } else {
        a.becomes = i == 1 && m.what.kind == message_kind::payload ? payload(m) : text(e);
      }
      all.push_back(std::move(a));
    }
    return all;
  }

  /// A send or an ask: in one line where it fits and no comment stands between, else laid out as it was.
  [[nodiscard]] std::string sent(const mailbox& m) const {
    const auto whole = bytes_of(s_, m.what.call->getSourceRange());
    const auto all = arguments(m);
    std::string short_form = callee(m) + '(', long_form = short_form;
    std::size_t done = parenthesis(m.what.call) + 1;
    bool comments = has_comment(s_.text().substr(whole.first, done - whole.first)), any_gone = false, first = true;
    for (const auto& a : all) {
      const auto gap = s_.text().substr(done, a.where.first - done);
      comments = comments || has_comment(gap);
      any_gone = any_gone || a.gone;
      done = a.where.second;
      if (a.gone) continue;
      short_form += (first ? "" : ", ") + a.becomes;
      long_form += gap + a.becomes;
      first = false;
    }
    const auto rest = s_.text().substr(done, whole.second - done);
    if ((comments || has_comment(rest)) && any_gone) {
      throw refusal{m.what.call->getBeginLoc(),
                    "a comment stands between the arguments, and would be lost: move it away"};
    }
    short_form += ')';
    const auto column = whole.first - s_.line_begin(whole.first);
    const bool fits = column + short_form.size() + 1 <= line_length && short_form.find('\n') == std::string::npos;
    return !comments && !has_comment(rest) && (fits || any_gone) ? short_form : long_form + rest;
  }

  [[nodiscard]] std::string asked_of_here(const here_call& c) const {
    const auto& h = handler_of(c.of);
    if (c.name == "from") return sender_in(s_, h);
    return own(h, "me") + "()." + std::string(c.name) + "()";
  }

  void add_done(const clang::CallExpr* d) {
    if (p_.numbers_stay()) return;
    if (d->getNumArgs() > 0 && !llvm::isa<clang::CXXDefaultArgExpr>(d->getArg(0))) {
      throw refusal{d->getBeginLoc(),
                    "done() of a mailbox that is chosen while the program runs: the class has other "
                    "mailboxes; write done<N>()"};
    }
    const auto ended = p_.of_old(done_mailbox(d));
    if (ended.empty()) {
      throw refusal{d->getBeginLoc(),
                    "done() of a mailbox through which no lambda is sent: the class does not have it; "
                    "remove the call"};
    }
    const auto where = bytes_of(s_, d->getSourceRange());
    const auto separator = stands_alone(where) ? ";\n" + s_.indent_at(where.first) : std::string(", ");
    pieces_.replace(where, [this, ended, separator] {
      std::string all;
      for (const auto k : ended) all += (all.empty() ? "" : separator) + name() + ".done<" + std::to_string(k) + ">()";
      return ended.size() == 1 || separator != ", " ? all : '(' + all + ')';
    });
  }
  /// Whether a call is a statement of a block, so that several can stand in its place.
  [[nodiscard]] bool stands_alone(byte_range call) const {
    const auto before = trimmed(std::string_view(s_.text()).substr(0, call.first));
    const auto behind = trimmed(std::string_view(s_.text()).substr(call.second));
    return !before.empty() && std::string_view(";{}").find(before.back()) != std::string_view::npos &&
           behind.starts_with(';');
  }
  static unsigned done_mailbox(const clang::CallExpr* d) {
    const auto* m = llvm::dyn_cast<clang::MemberExpr>(d->getCallee()->IgnoreParenImpCasts());
    const auto* f = m ? llvm::dyn_cast<clang::FunctionDecl>(m->getMemberDecl()) : nullptr;
    const auto* given = f ? f->getTemplateSpecializationArgs() : nullptr;
    if (!given || given->size() == 0) {
      throw refusal{d->getBeginLoc(), "the mailbox is no number that is known here: write its number"};
    }
    return static_cast<unsigned>(given->get(0).getAsIntegral().getZExtValue());
  }

  const source& s_;
  const plan& p_;
  const actor& a_;
  pieces pieces_;
};

}  // namespace

changes written(const source& s, const plan& p, bool finish_at_end) { return rewriter(s, p).make(finish_at_end); }

}  // namespace shunt::translate::class_form
