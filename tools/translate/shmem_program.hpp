/// What a program of OpenSHMEM needs besides its loops, to be one of Shunt: a main() that starts a job, and C++ that
/// compiles where it was C.
///
/// ```c
/// int main(int argc, char** argv) {      // becomes static int shmem_main(int argc, char** argv)
///   long* a = malloc(n * sizeof *a);     //         long* a = (long*)malloc(n * sizeof *a);
///   shmem_finalize();
/// }                                      //         return 0;
/// // and behind it: int main(int argc, char** argv) { return shmem::launch(argc, argv, shmem_main); }
/// ```
#pragma once

#include <vector>

#include "edits.hpp"
#include "finding.hpp"
#include "source.hpp"

namespace shunt::translate {

/// Whether a file includes shmem.h.
[[nodiscard]] bool uses_shmem(const source& s);

/// Adds what the program needs, where `into` replaces nothing.
void write_shmem_program(const source& s, edits& into, std::vector<finding>& findings);

}  // namespace shunt::translate
