/// The k-mers of a text of bases (FASTA), and a distributed count of them.
///
/// A k-mer is k neighbouring bases of one sequence, of A, C, G and T in either case; any other letter interrupts. As a
/// number it has two bits a base, the first base highest. *Canonical* is the lesser of a k-mer and its reverse
/// complement: which strand was read does not matter then.
///
/// Source: Marcais, Kingsford, A fast, lock-free approach for efficient parallel counting of occurrences of k-mers,
/// Bioinformatics 27 (2011), doi:10.1093/bioinformatics/btr011: what is counted.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <shunt/pgas/containers/map.hpp>

namespace shunt::apps {

/// How k-mers are cut out.
struct kmer_shape {
  unsigned k;  ///< 1..32
  bool canonical;
};

namespace detail {
/// A base's two bits, so that 3 - bits is its complement; 4 for others.
inline constexpr auto base_bits = [] {
  std::array<std::uint8_t, 256> bits{};
  bits.fill(4);
  bits['A'] = bits['a'] = 0;
  bits['C'] = bits['c'] = 1;
  bits['G'] = bits['g'] = 2;
  bits['T'] = bits['t'] = 3;
  return bits;
}();

/// `at`, or, where that is within a header, the header's end.
[[nodiscard]] inline std::size_t behind_header(std::string_view text, std::size_t at) noexcept {
  if (at == 0 || at >= text.size()) return std::min(at, text.size());
  const std::size_t before = text.rfind('\n', at - 1);
  if (text[before == text.npos ? 0 : before + 1] != '>') return at;
  return std::min(text.find('\n', at), text.size());
}
}  // namespace detail

/// Calls f(kmer) for each k-mer of a text whose first base lies in [begin, end).
template <class F>
void each_kmer(std::string_view text, std::size_t begin, std::size_t end, kmer_shape shape, F f) {
  const std::uint64_t all = shape.k == 32 ? ~std::uint64_t{0} : (std::uint64_t{1} << (2 * shape.k)) - 1;
  const unsigned highest = 2 * (shape.k - 1);
  std::uint64_t forward = 0, backward = 0;
  unsigned length = 0;  // of the run of bases, at most k
  unsigned behind = 0;  // bases behind the end, with which k-mers of this part end
  for (std::size_t at = detail::behind_header(text, begin); at < text.size(); ++at) {
    if (at >= end && (length == 0 || behind + 1 >= shape.k)) return;
    const char c = text[at];
    if (c == '\n' || c == '\r') continue;
    if (c == '>' && (at == 0 || text[at - 1] == '\n')) {  // a header ends the sequence
      length = 0;
      at = text.find('\n', at);
      if (at == text.npos) return;
      continue;
    }
    const std::uint64_t bits = detail::base_bits[static_cast<unsigned char>(c)];
    if (bits == 4) {
      length = 0;
      continue;
    }
    if (at >= end) ++behind;
    forward = (forward << 2U | bits) & all;
    backward = backward >> 2U | (3 - bits) << highest;
    length = std::min(length + 1, shape.k);
    if (length == shape.k) f(shape.canonical ? std::min(forward, backward) : forward);
  }
}

/// A map of k-mers.
using kmer_counts = pgas::map<std::uint64_t, std::uint64_t>;

/// Collective. Counts the k-mers that begin in this PE's part of a text, with those of all others.
/// \param each  called with how many were found so far \return how many were found here
template <class Each>
std::uint64_t count_kmers(pgas::pe& me, std::string_view text, std::size_t begin, std::size_t end, kmer_shape shape,
                          kmer_counts& counts, Each each) {
  std::uint64_t found = 0;
  pgas::superstep(me, [&] {
    each_kmer(text, begin, end, shape, [&](std::uint64_t kmer) {
      ++counts[kmer];
      each(++found);
    });
  });
  return found;
}

}  // namespace shunt::apps
