/// What the code in the comments of module pgas takes for granted: see tools/snippets.py.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <shunt/pgas.hpp>
#include <shunt/pgas/containers.hpp>
#include <shunt/pgas/openshmem/world.hpp>

namespace examples::pgas_actor_of {
namespace pgas = shunt::pgas;
extern pgas::pe& me;
extern std::vector<std::size_t> keys;
}  // namespace examples::pgas_actor_of

namespace examples::pgas_array {
namespace pgas = shunt::pgas;
extern pgas::pe& me;
extern std::vector<std::size_t> keys;
}  // namespace examples::pgas_array

namespace examples::pgas_checkpoint {
namespace pgas = shunt::pgas;
extern pgas::pe& me;
extern std::uint64_t cells;
extern long steps;
void warm(pgas::array<double>& heat);
}  // namespace examples::pgas_checkpoint

namespace examples::pgas_checkpoint_form {
namespace pgas = shunt::pgas;
std::map<int, std::size_t> index_of(const std::vector<int>& places);
}  // namespace examples::pgas_checkpoint_form

namespace examples::pgas_handler {
namespace pgas = shunt::pgas;
extern pgas::symmetric<std::vector<long>>& table;
}  // namespace examples::pgas_handler

namespace examples::pgas_mailbox_order {
namespace pgas = shunt::pgas;
extern pgas::symmetric<std::vector<long>>& table;
}  // namespace examples::pgas_mailbox_order

namespace examples::pgas_superstep {
namespace pgas = shunt::pgas;
extern pgas::pe& me;
extern std::vector<std::uint64_t> keys;
}  // namespace examples::pgas_superstep

namespace examples::pgas_containers_bag {
namespace pgas = shunt::pgas;
struct task {
  int depth;
};
extern pgas::pe& me;
extern task first;
std::vector<task> parts_of(const task& t);
}  // namespace examples::pgas_containers_bag

namespace examples::pgas_containers_counting_set {
namespace pgas = shunt::pgas;
extern pgas::pe& me;
extern std::vector<std::string> text;
}  // namespace examples::pgas_containers_counting_set

namespace examples::pgas_containers_disjoint_sets {
namespace pgas = shunt::pgas;
extern pgas::pe& me;
extern std::uint64_t vertices;
extern std::vector<std::pair<std::uint64_t, std::uint64_t>> edges;
}  // namespace examples::pgas_containers_disjoint_sets

namespace examples::pgas_containers_map {
namespace pgas = shunt::pgas;
extern pgas::pe& me;
extern std::vector<std::string> text;
}  // namespace examples::pgas_containers_map

namespace examples::pgas_containers_multimap {
namespace pgas = shunt::pgas;
struct order {
  std::uint64_t customer;
  double amount;
};
extern pgas::pe& me;
extern std::vector<order> orders;
void bill(std::uint64_t customer, const std::vector<order>& orders);
}  // namespace examples::pgas_containers_multimap

namespace examples::pgas_containers_set {
namespace pgas = shunt::pgas;
extern pgas::pe& me;
extern std::vector<std::uint64_t> keys;
}  // namespace examples::pgas_containers_set

namespace examples::pgas_containers_sort {
namespace pgas = shunt::pgas;
extern pgas::pe& me;
std::vector<double> read();
}  // namespace examples::pgas_containers_sort

namespace examples::pgas_containers_sparse_matrix {
namespace pgas = shunt::pgas;
struct triplet {
  std::uint64_t i, j;
  double v;
};
extern pgas::pe& me;
extern std::uint64_t n;
extern std::vector<triplet> triplets;
}  // namespace examples::pgas_containers_sparse_matrix

namespace examples::pgas_openshmem_world {
namespace openshmem = shunt::pgas::openshmem;
extern long n;
extern const long* spot;
extern const int* pe;
extern long *counts, *table, *target;
}  // namespace examples::pgas_openshmem_world

namespace examples::pgas_per_pe {
namespace pgas = shunt::pgas;
extern pgas::pe& me;
extern std::vector<long> keys;
}  // namespace examples::pgas_per_pe

namespace examples::pgas_selector {
namespace pgas = shunt::pgas;
extern pgas::pe& me;
extern int pe;
extern std::uint32_t spot;
}  // namespace examples::pgas_selector

namespace examples::pgas_symmetric {
namespace pgas = shunt::pgas;
extern pgas::pe& me;
extern const int pe;
extern const unsigned spot;
}  // namespace examples::pgas_symmetric

namespace examples::pgas_time_limit {
namespace pgas = shunt::pgas;
extern pgas::pe& me;
extern pgas::actor_of<std::vector<long>>& updates;
extern std::stop_token stop;
}  // namespace examples::pgas_time_limit
