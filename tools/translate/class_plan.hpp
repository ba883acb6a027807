/// What an actor's class consists of: its mailboxes, what they carry, and its members.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "class_actor.hpp"
#include "class_text.hpp"
#include "class_types.hpp"

namespace shunt::translate::class_form {

/// A capture, and the member that it becomes.
struct field {
  std::string capture;  ///< the capture's name
  std::string name;     ///< the member's
  std::string type;
  bool reference = false;
  clang::QualType known;
  std::optional<byte_range> value;  ///< of `[name = value]`
};

/// What a lambda's captures become.
struct record {
  std::string name;  ///< of the struct, if it is one
  std::vector<field> fields;
  bool bare = false;  ///< the one capture is carried without a struct

  /// What a mailbox carries.
  [[nodiscard]] const std::string& type() const { return bare ? fields.front().type : name; }
};

/// A mailbox.
struct mailbox {
  message what;
  record first, kept;
  std::string reply;          ///< asks: the type; "void" for none
  std::string item;           ///< payloads: of which they consist
  bool from_letters = false;  ///< a payload that is no span or string_view yet: characters up to a null
};

/// A reference to a symmetric part.
struct member {
  std::size_t part;
  std::string name, type;
  bool constant = false;
  bool direct = false;  ///< it bears the name that all handlers give it
};

struct plan {
  const actor* of;
  std::string name;  ///< of the class
  std::vector<mailbox> mailboxes;
  std::vector<member> members;  ///< one for each part

  /// The new mailboxes of an old one.
  [[nodiscard]] std::vector<unsigned> of_old(unsigned old_mailbox) const;
  /// Whether each mailbox keeps its number.
  [[nodiscard]] bool numbers_stay() const;
  [[nodiscard]] const mailbox& of_call(const clang::CallExpr* call) const;
};

/// \param hidden  names_of_selector()
/// \throws refusal
[[nodiscard]] plan planned(const source& s, const types& t, const actor& a, const std::set<std::string>& hidden);

/// Whether a handler's body has lambdas that are no messages.
[[nodiscard]] bool keeps_lambdas(const plan& p, const handler& h);

/// The handlers of a mailbox: one, or two.
[[nodiscard]] std::vector<const handler*> handlers_of(const message& m);

}  // namespace shunt::translate::class_form
