/// RandomAccess of HPC Challenge: each update goes to the owner of its word. A superstep ends before more updates are
/// under way than the plan allows.
#pragma once
#include <random_access/table.hpp>
namespace shunt::apps::lambda_form {
/// Collective. \param each_step  called with the number of updates done
template <class EachStep>
void random_access(pgas::symmetric<access_table>& table, const access_plan& plan, EachStep each_step) {
  pgas::actor_of updates(table);
  access_stream stream(plan.first);
  std::uint64_t done = 0;
  for (std::uint64_t step = 0; step < plan.steps; ++step, each_step(done)) {
    for (const auto end = std::min(plan.count, done + plan.at_once); done < end; ++done) {
      const auto x = stream.next();
      updates.send(table->where(x).pe, [x](access_table& mine) { mine.update(x); });
    }
    updates.finish();
  }
}
}  // namespace shunt::apps::lambda_form
