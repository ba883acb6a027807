// Compiled without fused multiply-add (cmake/modules.cmake): what is made here must not depend on it.
#include <shunt/graph/generate.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <shunt/base/error.hpp>
#include <shunt/base/random.hpp>
#include <string>
#include <utility>

namespace shunt {
inline namespace v1 {
namespace graph {
namespace {

// Generators that are given the same seed do not draw the same numbers: each adds its own tag.
constexpr std::uint64_t erdos_renyi_tag = 0x6572646f73207265U;  // "erdos re"
constexpr std::uint64_t matrix_tag = 0x6d6174726978206fU;       // "matrix o"
constexpr std::uint64_t rmat_tag = 0x722d6d6174206564U;         // "r-mat ed"
constexpr std::uint64_t scramble_tag = 0x736372616d626c65U;     // "scramble"

std::string text(double number) {
  char digits[64];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), number).ptr;
  return {digits, end};
}

/// log((1 + s) / (1 - s)) for |s| < 0.18, to a few units of the last place: the series of
/// 2 artanh(s). The library's log() may differ in its last bit from one machine to the next, and a
/// skip that is rounded the other way is another graph.
double log_of_ratio(double s) noexcept {
  constexpr int terms = 11;  // 0.18^(2 * 11) / 23 < 2^-58
  const double square = s * s;
  double sum = 0;
  for (int i = terms; i > 0; --i) sum = (sum + 1.0 / (2 * i + 1)) * square;
  return 2 * (s + s * sum);
}

/// Of a positive normal number.
double natural_log(double x) noexcept {
  constexpr double log_2 = 0x1.62e42fefa39efp-1;
  constexpr double sqrt_half = 0x1.6a09e667f3bcdp-1;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  int exponent = static_cast<int>(bits >> 52) - 1022;
  // 0.5 <= part < 1, then sqrt(1/2) <= part < sqrt(2): |s| <= 0.1716
  double part = std::bit_cast<double>((bits & 0xfffffffffffffU) | (std::uint64_t{1022} << 52));
  if (part < sqrt_half) {
    part *= 2;
    --exponent;
  }
  return exponent * log_2 + log_of_ratio((part - 1) / (part + 1));
}

/// log(1 - p), 0 < p < 1, accurate for small p too.
double log_of_complement(double p) noexcept { return p < 0.25 ? log_of_ratio(-p / (2 - p)) : natural_log(1 - p); }

/// Appends those of 0..candidates-1 that are chosen, each with probability p on its own.
/// \param log_miss  log(1 - p); 0 where p is 0, or so small that it was lost, or 1
void append_chosen(vertex candidates, double p, double log_miss, const counter_random& numbers,
                   std::vector<vertex>& to) {
  if (p >= 1) {
    for (vertex u = 0; u < candidates; ++u) to.push_back(u);
    return;
  }
  if (log_miss == 0) return;
  vertex u = 0;  // the first candidate that is not decided yet
  for (std::uint64_t i = 0;; ++i) {
    for (const std::uint64_t bits : numbers.block(i)) {
      // (0, 1], all values exact; how many candidates in a row are not chosen?
      const double unit = static_cast<double>((bits >> 11) + 1) * 0x1p-53;
      const double misses = natural_log(unit) / log_miss;
      if (misses >= static_cast<double>(candidates - u)) return;  // before the cast: it may be huge
      u += static_cast<vertex>(misses);
      to.push_back(u);
      ++u;
    }
  }
}

template <class Generator>
row_block block_of_rows(const Generator& generator, vertex first, vertex last) {
  if (first > last || last > generator.vertices()) {
    throw usage_error(error_number(1007), "graph: rows " + std::to_string(first) + " up to " + std::to_string(last) +
                                              " of a graph with " + std::to_string(generator.vertices()));
  }
  row_block rows;
  rows.first = first;
  rows.offsets.reserve(std::size_t{last - first} + 1);
  for (vertex v = first; v < last; ++v) {
    generator.append_row(v, rows.columns);
    rows.offsets.push_back(rows.columns.size());
  }
  return rows;
}

}  // namespace

// --- Erdos-Renyi ---

erdos_renyi::erdos_renyi(std::uint64_t vertices, double p, std::uint64_t seed)
    : vertices_(static_cast<vertex>(vertices)), p_(p), log_miss_(0), seed_(seed ^ erdos_renyi_tag) {
  if (vertices > max_vertices) {
    throw usage_error(error_number(1008), "erdos_renyi: " + std::to_string(vertices) + " vertices, at most " +
                                              std::to_string(max_vertices) + " fit");
  }
  if (!(p >= 0 && p <= 1)) {  // this way round, not-a-number is refused too
    throw usage_error(error_number(1009), "erdos_renyi: " + text(p) + " is not a probability, expected 0..1");
  }
  if (p > 0 && p < 1) log_miss_ = log_of_complement(p);
}

erdos_renyi erdos_renyi::with_row_mean(std::uint64_t vertices, double mean, std::uint64_t seed) {
  const double most = vertices > 1 ? static_cast<double>(vertices - 1) : 0;
  if (!(mean >= 0 && mean <= most)) {
    throw usage_error(error_number(1010), "erdos_renyi: a mean of " + text(mean) + " neighbours, expected 0.." +
                                              text(most) + " for " + std::to_string(vertices) + " vertices");
  }
  return {vertices, mean > 0 ? mean / most : 0, seed};
}

erdos_renyi erdos_renyi::with_lower_row_mean(std::uint64_t vertices, double mean, std::uint64_t seed) {
  const double most = vertices > 1 ? static_cast<double>(vertices - 1) / 2 : 0;
  if (!(mean >= 0 && mean <= most)) {
    throw usage_error(error_number(1010), "erdos_renyi: a mean of " + text(mean) + " lower neighbours, expected 0.." +
                                              text(most) + " for " + std::to_string(vertices) + " vertices");
  }
  return {vertices, mean > 0 ? mean / most : 0, seed};
}

void erdos_renyi::append_row(vertex v, std::vector<vertex>& to) const {
  append_chosen(v, p_, log_miss_, counter_random(seed_, v), to);
}

row_block erdos_renyi::rows(vertex first, vertex last) const { return block_of_rows(*this, first, last); }

graph erdos_renyi::whole() const { return graph::from_rows(rows(0, vertices_)); }

random_matrix::random_matrix(std::uint64_t rows, std::uint64_t columns, double mean, std::uint64_t seed)
    : rows_(static_cast<vertex>(rows)),
      columns_(static_cast<vertex>(columns)),
      p_(columns == 0 ? 0 : mean / static_cast<double>(columns)),
      seed_(seed ^ matrix_tag) {
  if (rows > max_vertices || columns > max_vertices) {
    throw usage_error(error_number(1011), "a matrix of " + std::to_string(rows) + " x " + std::to_string(columns) +
                                              ", at most " + std::to_string(max_vertices) + " rows and columns fit");
  }
  if (!(mean >= 0 && mean <= static_cast<double>(columns))) {
    throw usage_error(error_number(1012), "a mean of " + text(mean) + " non-zeros a row, expected 0.." +
                                              std::to_string(columns) + " for " + std::to_string(columns) + " columns");
  }
  if (p_ > 0 && p_ < 1) log_miss_ = log_of_complement(p_);
}

void random_matrix::append_row(vertex v, std::vector<vertex>& to) const {
  append_chosen(columns_, p_, log_miss_, counter_random(seed_, v), to);
}

// --- R-MAT ---

rmat::rmat(const parameters& chosen, std::uint64_t seed) : chosen_(chosen), seed_(seed ^ rmat_tag) {
  constexpr unsigned most_scale = 31;
  constexpr std::uint64_t most_factor = std::uint64_t{1} << 20;
  static_assert((std::uint64_t{1} << most_scale) <= max_vertices);
  if (chosen.scale > most_scale) {
    throw usage_error(error_number(1013), "rmat: scale " + std::to_string(chosen.scale) + ", expected 0..31");
  }
  if (chosen.edge_factor > most_factor) {
    throw usage_error(error_number(1013), "rmat: edge factor " + std::to_string(chosen.edge_factor) +
                                              ", expected at most " + std::to_string(most_factor));
  }
  const double ab = chosen.a + chosen.b;
  const double abc = ab + chosen.c;
  // The last bits of a sum such as 0.5 + 0.3 + 0.2 may lie above 1.
  if (!(chosen.a >= 0 && chosen.b >= 0 && chosen.c >= 0 && abc <= 1 + 0x1p-40)) {
    throw usage_error(error_number(1013), "rmat: probabilities " + text(chosen.a) + ", " + text(chosen.b) + ", " +
                                              text(chosen.c) + ", expected none below 0 and a sum of at most 1");
  }
  const double sums[3] = {chosen.a, ab, abc};
  for (int i = 0; i < 3; ++i) bound_[i] = static_cast<std::uint64_t>(sums[i] * 0x1p32);
  const counter_random keys(seed ^ scramble_tag);
  for (std::size_t i = 0; i < std::size(key_); ++i) key_[i] = keys.at(i) | 1;
}

vertex rmat::scrambled(vertex v) const noexcept {
  if (chosen_.scale == 0) return v;
  // Adding, multiplying by an odd number, and folding the high half onto the low one are bijections
  // on `scale` bits; products carry low bits up, folds bring high bits down.
  const std::uint64_t mask = (std::uint64_t{1} << chosen_.scale) - 1;
  const unsigned fold = (chosen_.scale + 1) / 2;
  std::uint64_t x = v;
  for (std::size_t round = 0; round < std::size(key_); round += 2) {
    x = (x + (key_[round] >> 1)) & mask;
    x = (x * key_[round + 1]) & mask;
    x ^= x >> fold;
  }
  return static_cast<vertex>(x);
}

edge rmat::entry(std::uint64_t i) const noexcept {
  const counter_random numbers(seed_, i);
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  for (unsigned level = 0; level < chosen_.scale;) {
    const auto two = numbers.block(level / 4);
    const std::array<std::uint32_t, 4> draws = {
        static_cast<std::uint32_t>(two[0]), static_cast<std::uint32_t>(two[0] >> 32),
        static_cast<std::uint32_t>(two[1]), static_cast<std::uint32_t>(two[1] >> 32)};
    for (std::size_t k = 0; k < draws.size() && level < chosen_.scale; ++k, ++level) {
      // Quadrants count 0..3: the high bit is the row's, the low one the column's. No branches:
      // they would be mispredicted nearly every other time.
      const unsigned quadrant = static_cast<unsigned>(draws[k] >= bound_[0]) +
                                static_cast<unsigned>(draws[k] >= bound_[1]) +
                                static_cast<unsigned>(draws[k] >= bound_[2]);
      a = a << 1 | quadrant >> 1;
      b = b << 1 | (quadrant & 1);
    }
  }
  const edge drawn{static_cast<vertex>(a), static_cast<vertex>(b)};
  return chosen_.scramble ? edge{scrambled(drawn.a), scrambled(drawn.b)} : drawn;
}

std::vector<edge> rmat::edges(std::uint64_t first, std::uint64_t last) const {
  if (first > last || last > entries()) {
    throw usage_error(error_number(1013), "rmat: entries " + std::to_string(first) + " up to " + std::to_string(last) +
                                              " of " + std::to_string(entries()));
  }
  std::vector<edge> drawn;
  drawn.reserve(last - first);
  for (std::uint64_t i = first; i < last; ++i) drawn.push_back(entry(i));
  return drawn;
}

graph rmat::whole() const { return graph::from_edges(vertices(), edges(0, entries())); }

// --- products of stars ---

star_product::star_product(std::vector<std::uint64_t> leaves, loop loops) : loops_(loops) {
  if (leaves.empty()) throw usage_error(error_number(1014), "star_product: no stars, expected at least one");
  std::uint64_t vertices = 1;
  for (auto m = leaves.rbegin(); m != leaves.rend(); ++m) {
    if (*m == 0) throw usage_error(error_number(1014), "star_product: a star without leaves, expected at least one");
    const auto weight = static_cast<vertex>(vertices);
    if (*m >= max_vertices || vertices > max_vertices / (*m + 1)) {
      throw usage_error(error_number(1014),
                        "star_product: more than " + std::to_string(max_vertices) + " vertices, the most that fit");
    }
    vertices *= *m + 1;
    stars_.push_back({static_cast<vertex>(*m), weight});
  }
  std::reverse(stars_.begin(), stars_.end());
  vertices_ = static_cast<vertex>(vertices);
}

star_product star_product::parse(std::string_view text, loop loops) {
  const auto refuse = [&]() -> star_product {
    std::string shown;
    for (const char c : text.substr(0, 40)) shown += c >= 0x20 && c < 0x7f ? c : '?';
    throw usage_error(error_number(1014), "star_product: found \"" + shown +
                                              "\", expected leaves such as 3x4x5, or with loops such as 1:3x4x5 "
                                              "(0 none, 1 at the centres, 2 at the last leaves)");
  };
  std::string_view rest = text;
  if (rest.size() >= 2 && rest[1] == ':') {
    if (rest[0] < '0' || rest[0] > '2') return refuse();
    loops = static_cast<loop>(rest[0] - '0');
    rest.remove_prefix(2);
  }
  std::vector<std::uint64_t> leaves;
  for (;;) {
    std::uint64_t m = 0;
    const auto [end, fault] = std::from_chars(rest.data(), rest.data() + rest.size(), m);
    if (fault != std::errc() || m == 0) return refuse();
    leaves.push_back(m);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    if (rest.empty()) return {std::move(leaves), loops};
    if (rest.front() != 'x') return refuse();
    rest.remove_prefix(1);
  }
}

std::uint64_t star_product::edges() const noexcept {
  const std::uint64_t looped = loops_ == loop::none ? 0 : 1;
  std::uint64_t nonzeros = 1;  // at most vertices squared, so it fits
  for (const star& s : stars_) nonzeros *= 2 * std::uint64_t{s.leaves} + looped;
  return (nonzeros - looped) / 2;
}

std::uint64_t star_product::triangles() const noexcept {
  if (loops_ == loop::none) return 0;
  // Closed walks of length 3 in the product, less those over the one loop, over six. The first
  // product fits: 3m + 1 <= (m + 1)^2.
  std::uint64_t walks = 1;
  std::uint64_t looped = 1;
  for (const star& s : stars_) {
    walks *= loops_ == loop::centre ? 3 * std::uint64_t{s.leaves} + 1 : 4;
    looped *= loops_ == loop::centre ? std::uint64_t{s.leaves} + 1 : 2;
  }
  return (walks - 3 * looped + 2) / 6;
}

void star_product::append_row(vertex v, std::vector<vertex>& to) const {
  // The neighbours of a digit are first, first + step, ..: all leaves or all digits for a centre,
  // the centre or the centre and itself for a leaf. An odometer over them counts up, so the row
  // comes sorted, and ends at v.
  struct wheel {
    std::uint64_t step;  // both times the digit's weight
    std::uint64_t span;
    std::uint64_t at;
  };
  constexpr std::size_t most_stars = 32;  // of one leaf each, within max_vertices
  std::array<wheel, most_stars> wheels;
  const std::size_t k = stars_.size();
  SHUNT_ASSERT(k <= most_stars && v < vertices_);
  std::uint64_t u = 0;
  vertex rest = v;
  for (std::size_t i = 0; i < k; ++i) {
    const auto [m, weight] = stars_[i];
    const vertex digit = rest / weight;
    rest %= weight;
    if (digit == 0) {
      const std::uint64_t first = loops_ == loop::centre ? 0 : 1;
      wheels[i] = {weight, (m - first) * weight, 0};
      u += first * weight;
    } else if (digit == m && loops_ == loop::last_leaf) {
      wheels[i] = {std::uint64_t{m} * weight, std::uint64_t{m} * weight, 0};
    } else {
      wheels[i] = {weight, 0, 0};
    }
  }
  while (u < v) {
    to.push_back(static_cast<vertex>(u));
    std::size_t i = k;
    while (i-- > 0) {
      wheel& w = wheels[i];
      if (w.at != w.span) {
        w.at += w.step;
        u += w.step;
        break;
      }
      u -= w.at;
      w.at = 0;
      if (i == 0) return;
    }
  }
}

row_block star_product::rows(vertex first, vertex last) const { return block_of_rows(*this, first, last); }

graph star_product::whole() const {
  // The product of the stars' loops: at the vertex whose digits all have one.
  return graph::from_rows(rows(0, vertices_), {.self_loops = loops_ == loop::none ? 0U : 1U});
}

}  // namespace graph
}  // namespace v1
}  // namespace shunt
