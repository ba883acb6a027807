/// `shunt-translate check`: mistakes in programs that use Shunt which a compiler cannot refuse.
///
///   check_captures.cpp    a message holds a pointer, which means nothing on another PE
///   check_waits.cpp       a handler calls what waits
///   check_done.cpp        a send to a mailbox after done()
///   check_reads.cpp       a part is read before finish(), while messages change it
///   check_supersteps.cpp  a read inside of a superstep, a change outside of one
///
/// Each rule would rather say nothing than a wrong thing; what it does not see stands at the head of its file.
#include "check_program.hpp"
#include "commands.hpp"
#include "source.hpp"

namespace shunt::translate {

outcome check(const std::string& file, const compile_options& options) {
  const source s(file, options);
  checks::program p(s);
  checks::check_captures(p);
  checks::check_waits(p);
  checks::check_done(p);
  checks::check_reads(p);
  checks::check_supersteps(p);
  return {p.findings(), s.text(), s.text()};
}

}  // namespace shunt::translate
