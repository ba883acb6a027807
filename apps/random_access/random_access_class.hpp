/// RandomAccess in the class form.
#pragma once
#include <random_access/table.hpp>
namespace shunt::apps::class_form {
struct random_access : pgas::actor<random_access, std::uint64_t> {
  void process(std::uint64_t x) { table.update(x); }
  /// Collective. \param each_step  called with the number of updates done
  template <class EachStep>
  void run(const access_plan& plan, EachStep each_step) {
    access_stream stream(plan.first);
    std::uint64_t done = 0;
    for (std::uint64_t step = 0; step < plan.steps; ++step, each_step(done)) {
      for (const auto end = std::min(plan.count, done + plan.at_once); done < end; ++done) {
        const auto x = stream.next();
        send(table.where(x).pe, x);
      }
      finish();
    }
  }
  access_table& table;
};
}  // namespace shunt::apps::class_form
