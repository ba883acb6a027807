/// Real graphs from files: SNAP edge lists and Matrix Market, plain or compressed with gzip.
///
/// ```cpp
/// graph::text_facts facts;
/// const graph::graph g = graph::read("facebook_combined.txt.gz", {.facts = &facts});
/// std::printf("%llu lines, %llu edges\n", static_cast<unsigned long long>(facts.entries),
///             static_cast<unsigned long long>(g.edges()));
/// ```
///
/// What a file is, is told by its first bytes, never by its name:
///
///   1f 8b             gzip, of one member or several; then the text inside is looked at. A library that was built
///                     without zlib refuses the file by name
///   %%MatrixMarket    a coordinate matrix: pattern, real or integer; general or symmetric
///   %%MasterMarket    the same as bale writes it: the field may be "position", and no symmetry is said
///   anything else     an edge list
///
/// **Edge list.** A line holds two vertex numbers, 0..max_number, set apart by blanks or tabs; what
/// follows them (weights, times) is ignored. Lines that are empty or start with # or % are skipped;
/// lines end with LF or CRLF, the last one need not. Vertices are the numbers that occur, on
/// self-loops too, renumbered 0..n-1 in ascending order. The format has no end mark: a plain edge
/// list that was cut off is a shorter edge list, while gzip data and matrices that were are errors.
///
/// Some programs write a header "vertices edges" above the edges. The first line with numbers is held to be one when it
/// has two numbers, the second is the number of lines with edges that follow, at least one, and these name no more
/// vertices than the first says: "4 3", "1 2", "1 3", "1 4" are three edges. (A triangle "1 2", "2 3", "3 1" has no
/// header, for its second and third line name three vertices, not one.) read_options::header decides otherwise, and
/// text_facts tell what was done.
///
/// **Matrix Market.** An entry i j is an edge between vertices i - 1 and j - 1, whatever its value
/// (a stored zero is an entry); n is the number of rows, with entries or without. The matrix is
/// square. A banner may leave the symmetry out, as bale's do: the matrix is general then. Rows take memory without
/// entries too, so many more rows than entries are refused, see read_options::rows_ok. Which half of a symmetric matrix
/// is stored does not matter. A first line of %% and a word with "matrix" in it is held to be a banner, so that a
/// misspelt one is an error, not a comment.
///
/// Either way the graph is made simple: direction is forgotten, self-loops and duplicates (a
/// reversed edge is one) are dropped and counted, see graph::cleaned().
///
/// Sources: Leskovec, Krevl: SNAP Datasets, https://snap.stanford.edu/data. Boisvert, Pozo, Remington: The Matrix
/// Market Exchange Formats, NISTIR 5935 (1996).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <shunt/graph/graph.hpp>

namespace shunt {
inline namespace v1 {
namespace graph {

/// The greatest vertex number that an edge list may hold: 2^63.
inline constexpr std::uint64_t max_number = std::uint64_t{1} << 63;

/// Rows that a matrix may announce however few its entries are: some 20 MB for a program that renumbers them.
inline constexpr std::uint64_t always_rows = std::uint64_t{1} << 20;
/// Rows to an entry that a larger matrix may announce.
inline constexpr std::uint64_t rows_an_entry = 16;

/// What a text was found to be.
struct text_facts {
  /// Of a matrix: what its banner says.
  enum class kind : std::uint8_t { edge_list, general_matrix, symmetric_matrix, matrix_without_symmetry };
  kind is = kind::edge_list;  ///< edge_list too where read_options::as made a banner a comment

  /// Of an edge list: the line that was taken for its header, from 1, and its first two numbers; 0: it has none.
  std::uint64_t header_line = 0;
  std::uint64_t header_vertices = 0;  ///< the first number of the header
  std::uint64_t header_edges = 0;     ///< the second number
  /// Lines with an edge, entries of a matrix.
  std::uint64_t entries = 0;
};

/// What read() and read_matrix() take the file for, what they accept, and what they report.
struct read_options {
  /// What the text is taken for. As `matrix_market`, a file without the banner of a matrix is an error; as `edge_list`,
  /// such a banner is a comment, and the line of sizes an edge. read_matrix() always takes it for a matrix.
  enum class format : std::uint8_t { tell_by_content, edge_list, matrix_market };
  format as = format::tell_by_content;  ///< by default a banner in the first line makes it a matrix

  /// Whether the first line with numbers of an edge list is a header. `yes` and `no` are obeyed whatever the line says;
  /// `yes` is an error for a matrix.
  enum class first_line : std::uint8_t { tell_by_content, yes, no };
  first_line header = first_line::tell_by_content;  ///< by default the line and those behind it decide

  /// Take a matrix that announces more than always_rows rows, and more than rows_an_entry to an entry: 20 bytes of
  /// memory a row at least.
  bool rows_ok = false;

  /// When set, receives what the text was found to be.
  text_facts* facts = nullptr;

  /// Bytes of the longest line that is read, its end included: from 16 to 2^30. Text is read in blocks of so many
  /// bytes.
  std::size_t longest_line = std::size_t{1} << 20;

  /// Called about once a megabyte of text, and at the end of the file.
  /// \param done   bytes of the file, as it lies on disk, that have been read.
  /// \param total  its size; 0 when that is unknown, as for a pipe.
  /// What it throws ends the reading and reaches read()'s caller.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = nullptr;

  /// When set, receives each vertex's number in the file, entry v for vertex v: for an edge list
  /// the numbers that occur, ascending; for a matrix 1..n.
  std::vector<std::uint64_t>* names = nullptr;
};

/// Reads one graph. Any thread; files are independent of each other.
/// \throws usage_error with one line that names file and line, what was found and what was expected: the file is
///   missing, a directory, empty, binary, or compressed in another way; gzip data are cut off or corrupt, or the
///   library was built without zlib; a line is not an edge; a number is negative or too large; a matrix is not square
///   or of another kind; it announces rows out of proportion to its entries; an index is out of range; there are fewer
///   or more entries than the matrix announces. known().native is errno where the system reported one.
/// \throws error when the system fails to read a file that it opened. std::bad_alloc, and whatever
///   options.progress throws.
/// Cost: one pass over the text, at some hundred megabytes a second. Memory: 8 bytes an entry (16 where a number
/// reaches 2^32) on top of the graph, a table of the numbers of an edge list (some 100 bytes for each that occurs,
/// where they are scattered), and 8 bytes a row that a matrix announces.
[[nodiscard]] graph read(const std::string& path, const read_options& options = {});

/// A sparse matrix without values: each entry is an edge from its row, `a`, to its column, `b`.
struct matrix_entries {
  std::uint64_t rows = 0;     ///< as the file announces them: with entries or without
  std::uint64_t columns = 0;  ///< likewise
  std::vector<edge> entries;  ///< in the order of the file; those of a symmetric matrix are followed by their mirror
  /// The same size, and the same entries in the same order.
  friend bool operator==(const matrix_entries&, const matrix_entries&) = default;
};

/// Reads a Matrix Market file as the matrix that it is: rectangular or square, with direction, duplicates and the
/// diagonal. Values are read over, and a stored zero is an entry.
/// \throws as read(). A file of another kind is an error; options.names is ignored.
/// Cost: as read(); memory 8 bytes an entry, of a symmetric matrix 16.
[[nodiscard]] matrix_entries read_matrix(const std::string& path, const read_options& options = {});

}  // namespace graph
}  // namespace v1
}  // namespace shunt
