#include <shunt/pgas/containers/sparse_matrix.hpp>

#include <functional>

#include <catch2/catch.hpp>
#include <support/expect.hpp>
#include <support/jobs.hpp>
#include <support/linked_properties.hpp>

namespace pgas = shunt::pgas;
using namespace shunt::testing;

TEST_CASE("sparse_matrix: entries are added, superstep after superstep, on any number of PEs") {
  const matrix_adds property;
  for (const auto& job : all_jobs(tiny)) pgas::run(job, std::ref(property));
}

TEST_CASE("sparse_matrix: times a vector, times a matrix, on any number of PEs") {
  const matrix_multiplies property;
  for (const auto& job : all_jobs(tiny)) pgas::run(job, std::ref(property));
}

TEST_CASE("sparse_matrix: transposed and permuted, on any number of PEs") {
  const matrix_moves property;
  for (const auto& job : all_jobs(tiny)) pgas::run(job, std::ref(property));
}

TEST_CASE("sparse_matrix: in a superstep its rows are as before it") {
  for (const auto& job : {tiny(1, 1), tiny(3, 2), tiny(7, 2, 2)}) {
    pgas::run(job, [](pgas::pe& me) {
      pgas::sparse_matrix<long> a(me, matrix_rows, matrix_columns);
      const auto entries = entries_of(1, 200, matrix_rows, matrix_columns);
      add_all(me, a, entries);
      const auto before = serial_of(entries);
      pgas::superstep(me, [&] {
        for (int i = 0; i != 200; ++i) {
          a.add(static_cast<std::uint64_t>(i) % matrix_rows, 5, 1);
          a.each_entry(
              [&](std::uint64_t row, std::uint64_t column, long value) { expect(value == before.at({row, column})); });
        }
      });
    });
  }
}

TEST_CASE("sparse_matrix: what does not fit is refused, with the line") {
  using Catch::Contains;
  const auto failure_of = [](const std::function<void(pgas::pe&, pgas::sparse_matrix<long>&)>& program) {
    return thrown_by([&] {
      pgas::run(small(2, 1), [&](pgas::pe& me) {
        pgas::sparse_matrix<long> a(me, 5, 7);
        program(me, a);
      });
    });
  };
  CHECK_THAT(failure_of([](pgas::pe&, pgas::sparse_matrix<long>& a) { a.add(1, 2, 3); }),
             Contains("outside of a superstep") && Contains("sparse_matrix.test.cpp"));
  CHECK_THAT(
      failure_of([](pgas::pe& me, pgas::sparse_matrix<long>& a) { pgas::superstep(me, [&] { a.add(5, 0, 1); }); }),
      Contains("element 5 of 5, 0 the first"));
  CHECK_THAT(
      failure_of([](pgas::pe& me, pgas::sparse_matrix<long>& a) { pgas::superstep(me, [&] { a.add(0, 7, 1); }); }),
      Contains("element 7 of 7, 0 the first"));
  CHECK_THAT(failure_of([](pgas::pe& me, pgas::sparse_matrix<long>& a) {
               pgas::array<long> x(me, 7), y(me, 7);
               a.multiply(x, y);
             }),
             Contains("multiply() needs a side of 5 and gets one of 7") && Contains("SHUNT-0950"));
  CHECK_THAT(failure_of([](pgas::pe& me, pgas::sparse_matrix<long>& a) {
               pgas::sparse_matrix<long> b(me, 5, 7), c(me, 5, 7);
               a.multiply(b, c);
             }),
             Contains("multiply() needs a side of 7 and gets one of 5"));
  CHECK_THAT(failure_of([](pgas::pe& me, pgas::sparse_matrix<long>& a) {
               pgas::sparse_matrix<long> b(me, 5, 7);
               a.transpose(b);
             }),
             Contains("transpose() needs a side of 7 and gets one of 5"));
}
