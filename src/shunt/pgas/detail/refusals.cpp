#include <shunt/pgas/detail/refusals.hpp>

#include <algorithm>

#include <shunt/base/error.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {
namespace {

std::string at(const std::source_location& where) {
  return std::string(where.file_name()) + ":" + std::to_string(where.line());
}
std::string pe_name(int n) { return "PE " + std::to_string(n); }

}  // namespace

void refuse_destination(int from, int to, int pes, const std::source_location& where) {
  throw error(error_number(912),
              pe_name(from) + ": send to " + pe_name(to) + ", but the job has PEs 0.." + std::to_string(pes - 1) +
                  " (" + at(where) + ")",
              {.pe = from}, where);
}

void refuse_thread(int from, const std::source_location& where) {
  throw usage_error(error_number(913),
                    pe_name(from) +
                        ": send on a thread that is no worker of this PE's job: the PE's program and its tasks and "
                        "fibers may send, other threads may not (" +
                        at(where) + ")",
                    {.pe = from}, where);
}

void refuse_call_in_task(int pe_index, const char* call) {
  throw usage_error(error_number(914),
                    pe_name(pe_index) + ": " + call +
                        " in a task on another worker: tasks may send, ask and fetch; this call belongs to the PE's "
                        "program",
                    {.pe = pe_index});
}

void refuse_gone(int from, const std::source_location& where) {
  throw usage_error(error_number(915),
                    pe_name(from) +
                        ": a task sends through a selector that its PE has destroyed: wait for the PE's tasks " +
                        "before finish() (" + at(where) + ")",
                    {.pe = from}, where);
}

void refuse_address(int from, int to, batch_key key, std::string_view what, const std::source_location& where) {
  throw usage_error(error_number(916),
                    pe_name(from) + ": a message to " + pe_name(to) + " holds the address of " + std::string(what) +
                        ", which means nothing there: send values, not references, pointers or this (" +
                        std::string(entry_of(key).name()) + ", sent at " + at(where) + ")",
                    {.pe = from}, where);
}

void refuse_operand(int pe_index, const char* call, const selector_state& s, const message_under_way& last) {
  throw usage_error(error_number(917),
                    pe_name(pe_index) + ": " + call + " of a part of " + std::string(s.name) +
                        " while messages that may change it are under way: call finish() or quiesce() first (" +
                        std::string(last.handler->name()) + ", sent at " + at(last.where) + ")",
                    {.pe = pe_index}, last.where);
}

void refuse_no_finish(int pe_index, const selector_state& s, const message_under_way& last) {
  throw usage_error(error_number(918),
                    pe_name(pe_index) + ": " + last.read_by + " was called while messages of " + std::string(s.name) +
                        " were under way, and no finish() or quiesce() has followed: call it before " + last.read_by +
                        " (" + std::string(last.handler->name()) + ", sent at " + at(last.where) + ")",
                    {.pe = pe_index}, last.where);
}

void refuse_length(int from, std::size_t bytes, std::size_t capacity, batch_key key,
                   const std::source_location& where) {
  const bool varies = (entry_of(key).flags() & wire::varying) != 0;
  const std::size_t most = std::min(capacity - sizeof(wire::batch_head), varies ? ~std::size_t{0} : 0xffff);
  throw error(error_number(919),
              pe_name(from) + ": a message of " + std::to_string(bytes) + " bytes is too long, a train carries " +
                  std::to_string(most) + "; send less at once, or raise --train (" + at(where) + ")",
              {.pe = from}, where);
}

void refuse_budget(int from, const wire::handler* handler, const rail::train_pool& pool, std::size_t budget) {
  throw error(error_number(920),
              pe_name(from) + (handler == nullptr ? "" : ": handler " + std::string(handler->name())) +
                  ": handlers have sent more than " + std::to_string(pool.limit()) + " trains of " +
                  std::to_string(pool.capacity()) + " bytes hold, and they cannot wait; raise --budget (" +
                  std::to_string(budget) + " bytes a PE) or let handlers send less",
              {.pe = from});
}

void refuse_mailbox(int at_pe, const char* call, std::size_t mailbox, const selector_state& s,
                    const std::source_location& where) {
  const std::size_t mailboxes = s.mailboxes.size();
  throw usage_error(error_number(921),
                    pe_name(at_pe) + ": " + call + ": mailbox " + std::to_string(mailbox) + " of " +
                        std::string(s.name) +
                        (mailbox < mailboxes ? " carries another type"
                                             : ", which has " + std::to_string(mailboxes) + ", 0 the first") +
                        " (" + at(where) + ")",
                    {.pe = at_pe}, where);
}

void refuse_closed_mailbox(int from, unsigned mailbox, const selector_state& s, const std::source_location& where) {
  throw error(error_number(922),
              pe_name(from) + ": send to mailbox " + std::to_string(mailbox) + " of " + std::string(s.name) +
                  " after done() or ending(); where handlers send to their own or an earlier mailbox, use quiesce() (" +
                  at(where) + ")",
              {.pe = from}, where);
}

void refuse_collected(std::string_view call, const std::string& what) {
  throw error(error_number(923),
              std::string(call) + ": what the workers gathered is damaged: " + what +
                  "; the ranks do not run the same program, or the network or the memory of a machine changes data");
}

void refuse_superstep(int pe_index, std::source_location where) {
  throw usage_error(error_number(944),
                    pe_name(pe_index) + ": superstep() inside of a superstep: end that one first (" + at(where) + ")",
                    {.pe = pe_index}, where);
}

void refuse_change(int pe_index, bool amid, std::uint64_t i, std::uint64_t size, std::source_location where) {
  if (amid) refuse_element(pe_index, i, size, where);
  throw usage_error(error_number(945),
                    pe_name(pe_index) + ": a distributed object is changed outside of a superstep: write " +
                        "pgas::superstep(me, [&] { ... }) around the loop (" + at(where) + ")",
                    {.pe = pe_index}, where);
}

void refuse_read_amid(int pe_index, const char* call, std::source_location where) {
  throw usage_error(
      error_number(946),
      pe_name(pe_index) + ": " + call + " in a superstep: elements are read between supersteps (" + at(where) + ")",
      {.pe = pe_index}, where);
}

void refuse_element(int pe_index, std::uint64_t i, std::uint64_t size, std::source_location where) {
  throw usage_error(error_number(947),
                    pe_name(pe_index) + ": element " + std::to_string(static_cast<std::int64_t>(i)) + " of " +
                        std::to_string(size) + ", 0 the first (" + at(where) + ")",
                    {.pe = pe_index}, where);
}

void refuse_array_size(int pe_index, int pes, std::uint64_t size) {
  throw usage_error(error_number(948),
                    pe_name(pe_index) + ": an array of " + std::to_string(size) + " elements on " +
                        std::to_string(pes) + " PEs: at most 2^46 in all, and 2^32 a PE, are possible",
                    {.pe = pe_index});
}

void refuse_columns(int pe_index, std::size_t columns) {
  throw usage_error(error_number(973),
                    pe_name(pe_index) + ": a sparse matrix has entries in " + std::to_string(columns) +
                        " columns of a PE's rows: at most 2^32 are possible; take more PEs",
                    {.pe = pe_index});
}

void refuse_lengths(int pe_index, const char* call, std::size_t one, std::size_t other, std::source_location where) {
  throw usage_error(error_number(949),
                    pe_name(pe_index) + ": " + call + " gets ranges of " + std::to_string(one) + " and of " +
                        std::to_string(other) + " items, which must be as many (" + at(where) + ")",
                    {.pe = pe_index}, where);
}

void refuse_key(const std::string& key, std::size_t bytes, std::source_location where) {
  throw usage_error(error_number(951),
                    "the key " + key + " is no value of this container's keys, which have " +
                        std::to_string(8 * bytes) + " bits (" + at(where) + ")",
                    where);
}

void refuse_shape(int pe_index, const char* call, std::uint64_t wanted, std::uint64_t given,
                  std::source_location where) {
  throw usage_error(error_number(950),
                    pe_name(pe_index) + ": " + call + " needs a side of " + std::to_string(wanted) +
                        " and gets one of " + std::to_string(given) + " (" + at(where) + ")",
                    {.pe = pe_index}, where);
}

std::string disagreement(const std::string& one, const std::string& others) {
  return "PEs disagree: one is " + one + " while others are " + others +
         "; every PE must make the same collective calls in the same order";
}

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
