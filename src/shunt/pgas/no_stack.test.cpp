// No memory for a PE's stack: the job ends, and the error names the PE, the stack pool and the limit.
#include <support/jobs.hpp>
#include <support/refused_stacks.hpp>

#include <string>

#include <catch2/catch.hpp>

using namespace shunt;
using namespace shunt::testing;
using Catch::Contains;

TEST_CASE("no stack: a job whose PE gets none ends, whichever it is, and the error names the PE") {
  for (const int workers : {1, 2}) {
    CHECK(with_each_stack_refused([&] {
            pgas::run(small(4, workers), [](pgas::pe& me) {
              const long sum = me.sum(1L);
              expect(sum == 4);
              me.barrier();
            });
          }) > 4);
  }
  const refused_stacks refused(2, false);
  CHECK_THROWS_WITH(pgas::run(small(4, 1), [](pgas::pe& me) { me.barrier(); }),
                    Contains("PE ") && Contains(": stack pool: no stack of "));
}
