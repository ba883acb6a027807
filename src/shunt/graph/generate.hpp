/// Graphs made from numbers: random ones that depend on their seed alone, and products of stars
/// whose triangles are known.
///
/// A generator is a small value that describes a graph. Every processing element of a program may
/// hold a copy and make the part that it owns; how many there are does not matter, since each row
/// (each entry, for rmat) has random numbers of its own, see shunt/base/random.hpp. The parts are
/// the same on every machine and with every compiler: they are made with integers, and doubles
/// under + - * / only.
///
/// Any thread may call the functions of one generator at the same time. Those that only tell a number cost a few
/// instructions.
///
/// ```cpp
/// const auto generator = graph::erdos_renyi::with_lower_row_mean(10'000 * pes, 35, seed);
/// const graph::row_block mine = generator.rows(first_row, last_row);  // this PE's
/// const graph::graph all = generator.whole();                         // the oracle's
/// ```
///
/// | generator     | natural part | cost of a part                                     |
/// |---------------|--------------|----------------------------------------------------|
/// | erdos_renyi   | rows         | a logarithm and a random number an edge            |
/// | random_matrix | rows         | a logarithm and a random number an entry           |
/// | star_product  | rows         | O(1) an edge, on average; a division a star and row |
/// | rmat          | entries      | half a random number an entry and level            |
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <shunt/graph/graph.hpp>

namespace shunt {
inline namespace v1 {
namespace graph {

/// G(n, p): each of the n (n - 1) / 2 possible edges is there with probability p, on its own.
///
/// Row v's neighbours come from skips with a geometric distribution out of stream v.
/// Source: Batagelj, Brandes: Efficient generation of large random networks. Physical Review E 71,
/// 036113 (2005), doi:10.1103/PhysRevE.71.036113.
class erdos_renyi {
 public:
  /// \param vertices  0..max_vertices.
  /// \param p         0..1.
  /// \throws usage_error for other values.
  erdos_renyi(std::uint64_t vertices, double p, std::uint64_t seed);

  /// \param mean  mean non-zeros a row of the whole adjacency matrix, i.e. the mean degree:
  ///   0..vertices-1.
  [[nodiscard]] static erdos_renyi with_row_mean(std::uint64_t vertices, double mean, std::uint64_t seed);

  /// \param mean  mean non-zeros a row of the lower triangle, half the mean degree:
  ///   0..(vertices-1)/2. This is what bale's applications mean by non-zeros a row of an undirected
  ///   graph ("10,000 rows, 35 a row": 350,000 edges, mean degree 70).
  [[nodiscard]] static erdos_renyi with_lower_row_mean(std::uint64_t vertices, double mean, std::uint64_t seed);

  /// Of the whole graph: 0..max_vertices.
  [[nodiscard]] vertex vertices() const noexcept { return vertices_; }
  /// The probability of each edge.
  [[nodiscard]] double p() const noexcept { return p_; }

  /// Appends row v, ascending, all below v. \param v  0..vertices()-1 (contract). \throws std::bad_alloc.
  /// Cost: see the table.
  void append_row(vertex v, std::vector<vertex>& to) const;

  /// Rows first..last-1. \throws usage_error unless first <= last <= vertices().
  [[nodiscard]] row_block rows(vertex first, vertex last) const;
  /// All rows. \throws std::bad_alloc. Cost: that of the rows.
  [[nodiscard]] graph whole() const;

 private:
  vertex vertices_;
  double p_;
  double log_miss_;  ///< log(1 - p), where that is finite and not 0
  std::uint64_t seed_;
};

/// A matrix of which each entry is there with probability mean / columns, on its own; without values. Its rows are
/// made as those of erdos_renyi.
class random_matrix {
 public:
  /// \param rows, columns  0..max_vertices. \param mean  non-zeros a row, 0..columns. \throws usage_error for others.
  random_matrix(std::uint64_t rows, std::uint64_t columns, double mean, std::uint64_t seed);

  [[nodiscard]] vertex rows() const noexcept { return rows_; }        ///< of the whole matrix: 0..max_vertices
  [[nodiscard]] vertex columns() const noexcept { return columns_; }  ///< 0..max_vertices; may differ from rows()

  /// Appends the columns of row v, ascending. \param v  0..rows()-1.
  void append_row(vertex v, std::vector<vertex>& to) const;

 private:
  vertex rows_;
  vertex columns_;
  double p_;
  double log_miss_ = 0;  ///< as in erdos_renyi
  std::uint64_t seed_;
};

/// R-MAT, also called stochastic Kronecker graphs. The parameters are by default those of Graph500's Kronecker
/// generator: skewed degrees, and a size that doubles with each level.
///
/// Each of edge_factor * 2^scale entries picks, at each of `scale` levels, a quadrant of the
/// matrix: (0,0) with probability a, (0,1) with b, (1,0) with c, else (1,1). Entries may be
/// self-loops or doubled. Last, vertex numbers are scrambled by a bijection made from the seed.
/// Sources: Chakrabarti, Zhan, Faloutsos: R-MAT. SDM 2004, doi:10.1137/1.9781611972740.43. The parameters and the
/// scrambled numbers: Graph 500 Benchmark Specification, https://graph500.org/?page_id=12; the random numbers are
/// others.
class rmat {
 public:
  /// The size of the graph, and how skewed its degrees are.
  struct parameters {
    unsigned scale = 10;             ///< 2^scale vertices, 0..31
    std::uint64_t edge_factor = 16;  ///< entries a vertex, at most 2^20
    double a = 0.57;                 ///< probability of quadrant (0,0); all three are used to 32 bits
    double b = 0.19;                 ///< of quadrant (0,1)
    double c = 0.19;                 ///< of quadrant (1,0)
    bool scramble = true;            ///< without it, low numbers have high degrees
  };

  /// \throws usage_error for parameters out of range, or that sum to more than 1.
  rmat(const parameters& chosen, std::uint64_t seed);

  [[nodiscard]] vertex vertices() const noexcept { return vertex{1} << chosen_.scale; }  ///< 2^scale
  /// Before anything is dropped.
  [[nodiscard]] std::uint64_t entries() const noexcept { return chosen_.edge_factor << chosen_.scale; }

  /// Entry i. \param i  0..entries()-1 (contract). Cost: a random number for two levels.
  [[nodiscard]] edge entry(std::uint64_t i) const noexcept;

  /// Entries first..last-1, as drawn: a distributed program sends them to their owners, which drop
  /// self-loops and duplicates. \throws usage_error unless first <= last <= entries().
  [[nodiscard]] std::vector<edge> edges(std::uint64_t first, std::uint64_t last) const;

  /// Simple; graph::cleaned() says what was dropped. \throws std::bad_alloc. Cost: that of the entries, and of
  /// graph::from_edges().
  [[nodiscard]] graph whole() const;

 private:
  [[nodiscard]] vertex scrambled(vertex v) const noexcept;

  parameters chosen_;
  std::uint64_t seed_;
  std::uint64_t bound_[3];  ///< a, a + b, a + b + c, in units of 2^-32
  std::uint64_t key_[6];
};

/// Kronecker products of stars, with exactly known triangles.
///
/// A star with m leaves has vertices 0 (its centre) and 1..m. Vertex v of a product is written in
/// mixed radix, one digit a star, the first star's the most significant; two vertices are
/// neighbours when their digits are, in every star. The one self-loop that this may make is dropped,
/// and counted by graph::cleaned().
/// Source: Kepner et al.: Design, generation, and validation of extreme scale power-law graphs.
/// 2018, arXiv:1803.01281; the stars, their loops and the digits as in bale.
class star_product {
 public:
  /// Where each star has a self-loop; the values are those of bale's option.
  enum class loop : std::uint8_t { none = 0, centre = 1, last_leaf = 2 };

  /// \param leaves  of each star, at least 1; at least one star; the product of (leaves + 1) is at
  ///   most max_vertices. \throws usage_error for other values.
  star_product(std::vector<std::uint64_t> leaves, loop loops);

  /// As users write it: "3x4x5", or with the loops in front, "1:3x4x5".
  /// \param loops  for a text that does not say. \throws usage_error that shows what is legal.
  [[nodiscard]] static star_product parse(std::string_view text, loop loops = loop::none);

  [[nodiscard]] vertex vertices() const noexcept { return vertices_; }  ///< the product of (leaves + 1) over all stars
  [[nodiscard]] std::uint64_t edges() const noexcept;  ///< of whole(): without the self-loop that is dropped

  /// The known answer.
  ///   none       0
  ///   centre     prod(3m + 1)/6 - prod(m + 1)/2 + 1/3
  ///   last_leaf  4^k/6 - 2^(k-1) + 1/3, for k stars
  [[nodiscard]] std::uint64_t triangles() const noexcept;

  /// Appends row v, ascending, all below v. \param v  0..vertices()-1 (contract). \throws std::bad_alloc.
  /// Cost: see the table.
  void append_row(vertex v, std::vector<vertex>& to) const;

  /// Rows first..last-1. \throws usage_error unless first <= last <= vertices().
  [[nodiscard]] row_block rows(vertex first, vertex last) const;
  /// All rows. \throws std::bad_alloc. Cost: that of the rows.
  [[nodiscard]] graph whole() const;

 private:
  struct star {
    vertex leaves;
    vertex weight;  ///< of its digit
  };
  std::vector<star> stars_;
  loop loops_;
  vertex vertices_ = 1;
};

}  // namespace graph
}  // namespace v1
}  // namespace shunt
