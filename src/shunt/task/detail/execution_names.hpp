/// The names of senders and receivers that <shunt/task/senders.hpp> uses, from whichever library is there: stdexec, or
/// a standard library that has them. SHUNT_SENDERS says whether there is one.
///
/// The tags of the four concepts have two spellings: `sender_t` in P2300R10, `sender_tag` in later versions. A name
/// with `struct` in front of it denotes the library's type if there is one, and otherwise an incomplete type of its
/// own. So both spellings can be written down, and the complete type of the two is the library's.
#pragma once

#include <type_traits>
#include <version>

#if __has_include(<stdexec/execution.hpp>)

#define SHUNT_SENDERS 1
#include <stdexec/execution.hpp>
#define SHUNT_EXECUTION ::stdexec
#define SHUNT_EXECUTION_QUERIES ::stdexec

#elif defined(__cpp_lib_senders)

#define SHUNT_SENDERS 1
#include <execution>
#include <stop_token>
#define SHUNT_EXECUTION ::std::execution
#define SHUNT_EXECUTION_QUERIES ::std

#else

#define SHUNT_SENDERS 0

#endif

#if SHUNT_SENDERS

namespace shunt {
inline namespace v1 {
namespace task {
namespace detail {
namespace execution {

namespace tags {
using namespace SHUNT_EXECUTION;
using new_sender = struct sender_tag;
using old_sender = struct sender_t;
using new_receiver = struct receiver_tag;
using old_receiver = struct receiver_t;
using new_operation = struct operation_state_tag;
using old_operation = struct operation_state_t;
using new_scheduler = struct scheduler_tag;
using old_scheduler = struct scheduler_t;
}  // namespace tags

template <typename T>
concept complete = requires { sizeof(T); };
template <typename New, typename Old>
using complete_of = std::conditional_t<complete<New>, New, Old>;

using sender = complete_of<tags::new_sender, tags::old_sender>;
using receiver = complete_of<tags::new_receiver, tags::old_receiver>;
using operation = complete_of<tags::new_operation, tags::old_operation>;
using scheduler = complete_of<tags::new_scheduler, tags::old_scheduler>;

using SHUNT_EXECUTION::completion_signatures;
using SHUNT_EXECUTION::completion_signatures_of_t;
using SHUNT_EXECUTION::connect;
using SHUNT_EXECUTION::env_of_t;
using SHUNT_EXECUTION::get_completion_scheduler_t;
using SHUNT_EXECUTION::get_env;
using SHUNT_EXECUTION::get_scheduler_t;
using SHUNT_EXECUTION::set_error;
using SHUNT_EXECUTION::set_error_t;
using SHUNT_EXECUTION::set_stopped;
using SHUNT_EXECUTION::set_stopped_t;
using SHUNT_EXECUTION::set_value;
using SHUNT_EXECUTION::set_value_t;
using SHUNT_EXECUTION::start;
using SHUNT_EXECUTION_QUERIES::get_stop_token;
using SHUNT_EXECUTION_QUERIES::stop_callback_for_t;
using SHUNT_EXECUTION_QUERIES::stop_token_of_t;

}  // namespace execution
}  // namespace detail
}  // namespace task
}  // namespace v1
}  // namespace shunt

#undef SHUNT_EXECUTION
#undef SHUNT_EXECUTION_QUERIES

#endif
