// All kernels in the lambda form, or what the translation made of them: sums of their answers, and of those of the
// classes that were written by hand.
#include <bale/histogram_lambda.hpp>
#include <bale/index_gather_lambda.hpp>
#include <bale/topological_sort_lambda.hpp>
#include <bale/transpose_lambda.hpp>
#include <bale/triangle_count.hpp>
#include <bale/upper_triangle.hpp>

#include <bale/histogram_class.hpp>
#include <bale/index_gather_class.hpp>
#include <bale/permute_matrix_class.hpp>
#include <bale/random_permutation_class.hpp>
#include <bale/topological_sort_class.hpp>
#include <bale/transpose_class.hpp>
#include <cstdio>
#include <shunt/graph/generate.hpp>
#include <shunt/graph/graph.hpp>

using namespace shunt;

namespace {

std::uint64_t mixed(std::uint64_t h, std::uint64_t value) { return (h ^ value) * 0x9E37'79B9'7F4A'7C15u + 1; }

template <class Range>
std::uint64_t sum_of(const Range& values) {
  std::uint64_t h = 1;
  for (const auto v : values) h = mixed(h, static_cast<std::uint64_t>(v));
  return h;
}
/// The same for any order of the rows' columns.
std::uint64_t sum_of(const apps::matrix& a) {
  std::uint64_t h = 0;
  for (std::uint32_t l = 0; l < a.count(); ++l) {
    for (const auto c : a.row(l)) h += mixed(mixed(7, a.home.global(l)), c);
  }
  return h;
}

void say(pgas::pe& me, const char* what, std::uint64_t lambda, std::uint64_t by_hand) {
  lambda = me.sum(lambda), by_hand = me.sum(by_hand);
  if (lambda != by_hand) throw error(what);
  if (me.index() == 0) std::printf("%s %lx\n", what, static_cast<unsigned long>(lambda));
}

void tables(pgas::pe& me) {
  const auto places = apps::random_places(20'000, 500, 9, me.index(), me.count());
  pgas::symmetric<std::vector<std::int64_t>> lambda(me, 500u), by_hand(me, 500u);
  apps::lambda_form::histogram(lambda, places);
  apps::class_form::histogram{{me}, *by_hand}.run(places);
  say(me, "histogram", sum_of(*lambda), sum_of(*by_hand));

  pgas::symmetric<std::vector<std::int64_t>> read(me, places.size()), read_by_hand(me, places.size());
  apps::lambda_form::index_gather(lambda, read, places);
  apps::class_form::index_gather{{me}, *lambda, *read_by_hand}.run(places);
  say(me, "index_gather", sum_of(*read), sum_of(*read_by_hand));
}

void matrices(pgas::pe& me) {
  const graph::random_matrix random(300, 110, 12, 3);
  apps::matrix a(me, random.rows(), random.columns());
  for (std::uint32_t l = 0; l < a.count(); ++l) {
    random.append_row(a.home.global(l), a.columns);
    a.offsets[l + 1] = a.columns.size();
  }
  say(me, "transpose", sum_of(apps::lambda_form::transpose(me, a)),
      sum_of(apps::class_form::transpose{{me}, apps::matrix(me, a.width, a.height)}.run(a)));

  const auto r = apps::lambda_form::random_permutation(me, a.height, 5);
  say(me, "random_permutation", sum_of(r), sum_of(apps::class_form::random_permutation{{me}}.run(me, a.height, 5)));
  pgas::symmetric<apps::permutation> c(me, apps::lambda_form::random_permutation(me, a.width, 6));
  say(me, "permute_matrix", sum_of(apps::lambda_form::permute_matrix(me, a, r, c)),
      sum_of(apps::class_form::permute_matrix{{me}, *c, apps::matrix(me, a.height, a.width)}.run(me, a, r)));

  const auto hidden = apps::hidden_triangle(me, 400, 5, 8);
  pgas::symmetric<apps::matrix> turned(me, apps::lambda_form::transpose(me, hidden));
  std::uint64_t levels = 0;
  const auto each = [&levels](std::uint64_t) { ++levels; };
  const auto placed = apps::lambda_form::topological_sort(me, hidden, turned, each);
  const auto by_hand =
      apps::class_form::topological_sort{{me}, *turned, apps::rows_left(hidden), apps::order(hidden)}.run(me, hidden,
                                                                                                          each);
  if (!placed.exists || !by_hand.exists) throw error("no topological sort");
  say(me, "topological_sort", placed.levels, by_hand.levels);
}

void triangles(pgas::pe& me) {
  const auto g = graph::rmat({.scale = 9, .edge_factor = 8}, 2).whole();
  pgas::symmetric<apps::rows> lower(me, apps::deal(g, me.index(), me.count()));
  for (const auto how : {apps::ask_by::wedge, apps::ask_by::row}) {
    const auto none = [](std::uint32_t) {};
    const auto lambda = apps::count_triangles(me, lower, apps::form::lambda, how, none);
    const auto by_hand = apps::count_triangles(me, lower, apps::form::class_, how, none);
    say(me, how == apps::ask_by::row ? "triangle_by_row" : "triangle", lambda.found * 1'000'003 + lambda.asked,
        by_hand.found * 1'000'003 + by_hand.asked);
  }
}

}  // namespace

int main(int argc, char** argv) {
  return pgas::launch(argc, argv, [](pgas::pe& me) {
    tables(me);
    matrices(me);
    triangles(me);
  });
}
