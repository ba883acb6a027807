#include <shunt/context/backtrace.hpp>

#include <unwind.h>

// Calls function(argument) as if `e` had called it: to an unwinder, the function returns to where `e` goes on. Register
// rbx (x19) points to `e`, and the rules say of the caller's frame: its stack pointer is e->sp, its frame pointer lies
// in e->fp, its address in e->pc, rbx (x19) in e->kept. No other register has a meaning there, since a switch changes
// them all.
//
//   .cfi_escape 0x0f, length, expression            DW_CFA_def_cfa_expression
//   .cfi_escape 0x10, register, length, expression  DW_CFA_expression: where it was saved
//   DW_OP_breg3 = 0x73, DW_OP_breg19 = 0x83, DW_OP_deref = 0x06 (DWARF 5, 7.7.1)
#if !defined(SHUNT_CONTEXT_BOOST)
#if defined(__x86_64__)
asm(R"(
.pushsection .text
.p2align 4
.globl shunt_context_call_as_v1
.hidden shunt_context_call_as_v1
.type shunt_context_call_as_v1, @function
shunt_context_call_as_v1:
.cfi_startproc
  endbr64
  pushq %rbx
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %rbx, 0
  movq %rdi, %rbx
  movq %rdx, %rdi
  .cfi_remember_state
  .cfi_escape 0x0f, 3, 0x73, 0, 0x06
  .cfi_escape 0x10, 16, 2, 0x73, 16
  .cfi_escape 0x10, 6, 2, 0x73, 8
  .cfi_escape 0x10, 3, 2, 0x73, 24
  call *%rsi
  .cfi_restore_state
  popq %rbx
  .cfi_adjust_cfa_offset -8
  .cfi_restore %rbx
  ret
.cfi_endproc
.size shunt_context_call_as_v1, . - shunt_context_call_as_v1
.popsection
)");
#elif defined(__aarch64__)
asm(R"(
.pushsection .text
.p2align 4
.globl shunt_context_call_as_v1
.hidden shunt_context_call_as_v1
.type shunt_context_call_as_v1, %function
shunt_context_call_as_v1:
.cfi_startproc
  hint #34
  stp x19, x30, [sp, #-16]!
  .cfi_adjust_cfa_offset 16
  .cfi_rel_offset x19, 0
  .cfi_rel_offset x30, 8
  mov x19, x0
  mov x0, x2
  .cfi_remember_state
  .cfi_escape 0x0f, 3, 0x83, 0, 0x06
  .cfi_escape 0x10, 30, 2, 0x83, 16
  .cfi_escape 0x10, 29, 2, 0x83, 8
  .cfi_escape 0x10, 19, 2, 0x83, 24
  blr x1
  .cfi_restore_state
  ldp x19, x30, [sp], #16
  .cfi_adjust_cfa_offset -16
  .cfi_restore x19
  .cfi_restore x30
  ret
.cfi_endproc
.size shunt_context_call_as_v1, . - shunt_context_call_as_v1
.popsection
)");
#endif
extern "C" void shunt_context_call_as_v1(const shunt::context::execution* e, void (*function)(void*) noexcept,
                                         void* argument) noexcept;
#endif

namespace shunt {
inline namespace v1 {
namespace context {
namespace {

struct walk {
  std::span<const void*> into;
  int skip;  // frames of this file
  std::size_t found = 0;
};

_Unwind_Reason_Code note(_Unwind_Context* frame, void* argument) {
  auto& w = *static_cast<walk*>(argument);
  if (w.skip > 0) {
    --w.skip;
    return _URC_NO_REASON;
  }
  const auto at = _Unwind_GetIP(frame);
  if (at == 0 || w.found == w.into.size()) return _URC_END_OF_STACK;
  w.into[w.found++] = reinterpret_cast<const void*>(at);
  return _URC_NO_REASON;
}

[[gnu::noinline]] void collect(void* argument) noexcept {
  _Unwind_Backtrace(&note, argument);
  asm volatile("");  // no tail call: this frame is one of those that are skipped
}

}  // namespace

std::size_t backtrace([[maybe_unused]] const execution& e, std::span<const void*> into) noexcept {
#if defined(SHUNT_CONTEXT_BOOST)
  static_cast<void>(into);
  return 0;
#else
  walk w{into, 2};  // collect() and the call above it
  shunt_context_call_as_v1(&e, &collect, &w);
  return w.found;
#endif
}

std::size_t backtrace(std::span<const void*> into) noexcept {
  walk w{into, 2};  // collect() and this
  collect(&w);
  return w.found;
}

}  // namespace context
}  // namespace v1
}  // namespace shunt
