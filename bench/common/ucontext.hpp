/// Contexts of the C library.
#pragma once

#include <ucontext.h>

#include <cstddef>

namespace bench {

/// Makes `one` call `body` on the stack from `low` up to `top` when it is first swapped in.
inline void prepare(ucontext_t& one, char* low, char* top, void (*body)()) {
  getcontext(&one);
  one.uc_stack.ss_sp = low;
  one.uc_stack.ss_size = static_cast<std::size_t>(top - low);
  makecontext(&one, body, 0);
}

}  // namespace bench
