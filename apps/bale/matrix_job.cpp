#include "bale/matrix_job.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <memory>
#include <new>
#include <shunt/base/error.hpp>

#include "option.hpp"

namespace shunt::apps {

matrix_input::matrix_input(command_line& options, job& job, const needs& wanted) : job_(job), wanted_(wanted) {
  const auto* const file = text_option(options, "--graph", file_,
                                       "Matrix Market file, plain or gzip, of a matrix whose values are left out; "
                                       "without it one is generated");
  const auto* const rows_ok =
      options.add_flag("--rows-ok", rows_ok_, "take a matrix that has very many more rows or columns than entries");
  const auto* const rows = count_option(
      options, "--rows", rows_,
      fmt::format("rows and columns of {} (default: {} a PE)",
                  wanted.triangle ? "an upper triangle under random permutations" : "a random matrix", rows_a_pe),
      1, graph::max_vertices);
  const auto* const nonzeros =
      real_option(options, "--nonzeros", nonzeros_, "of a row of it, on average", wanted.triangle ? 1 : 0, 1ul << 31)
          ->capture_default_str();
  options.final_callback([this, file, rows_ok, rows, nonzeros] {
    if (file->count() == 0) {
      refuse_without("--graph", {rows_ok});
      if (rows->count() > 0) check_nonzeros(rows_);
      return;
    }
    if (job_.has_processes()) expect_file(file_);
    refuse_with("--graph", {rows, nonzeros});
    if (!wanted_.seed_for_file) refuse_with("--graph", {job_.seed_option()});
  });
}

std::string matrix_input::name() const { return file_.empty() ? "generated" : file_; }

std::uint32_t matrix_input::height(int pes) const noexcept {
  if (from_file()) return static_cast<std::uint32_t>(whole_.count());
  return static_cast<std::uint32_t>(
      rows_ != 0 ? rows_ : std::min(rows_a_pe * static_cast<std::uint64_t>(pes), graph::max_vertices));
}

void matrix_input::check_nonzeros(std::uint64_t rows) const {
  const double most = static_cast<double>(wanted_.triangle ? rows + 1 : 2 * rows) / 2;
  if (nonzeros_ <= most) return;
  throw usage_error(error_number(1102),
                    fmt::format("--nonzeros {}: expected at most {} for {} rows", nonzeros_, most, rows));
}

void matrix_input::load() {
  if (!from_file()) return;
  const auto begin = std::chrono::steady_clock::now();
  graph::read_options how;
  how.rows_ok = rows_ok_;
  std::unique_ptr<progress> line;
  how.progress = [&](std::uint64_t done, std::uint64_t whole) {
    if (line == nullptr) line = std::make_unique<progress>("reading " + one_line(file_), whole, true);
    line->show(done);
  };
  try {
    auto read = graph::read_matrix(file_, how);
    sort_entries(read.entries);
    read.entries.erase(std::unique(read.entries.begin(), read.entries.end()), read.entries.end());
    width_ = static_cast<std::uint32_t>(read.columns);
    whole_.offsets.assign(read.rows + 1, 0);
    whole_.columns.reserve(read.entries.size());
    for (const auto& [row, column] : read.entries) {
      whole_.columns.push_back(column);
      whole_.offsets[row + std::size_t{1}] = whole_.columns.size();
    }
    for (std::size_t l = 1; l < whole_.offsets.size(); ++l) {
      whole_.offsets[l] = std::max(whole_.offsets[l], whole_.offsets[l - 1]);  // of a row without entries
    }
  } catch (const std::bad_alloc&) {
    throw error(error_number(1106), one_line(file_) + ": there is not enough memory for this matrix");
  }
  seconds_to_load_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void matrix_input::expect_square() const {
  if (!from_file() || whole_.count() == width_) return;
  throw usage_error(error_number(1105), fmt::format("{}: a matrix of {} x {}, expected a square one", one_line(file_),
                                                    whole_.count(), width_));
}

void matrix_input::require(pgas::pe& me, double bytes_an_entry) const {
  if (from_file()) return;
  check_nonzeros(height(me.count()));
  const double rows = static_cast<double>(height(me.count())) / me.count();
  require_memory(me, fmt::format("{} rows with {} non-zeros on {} PEs", height(me.count()), nonzeros_, me.count()),
                 rows * (64 + bytes_an_entry * nonzeros_));
}

matrix matrix_input::deal(pgas::pe& me) const {
  const auto fill = [&](std::uint32_t rows, std::uint32_t width, auto append) {
    matrix a(me, rows, width);
    for (std::uint32_t l = 0; l < a.count(); ++l) {
      append(a.home.global(l), a.columns);
      a.offsets[l + 1] = a.columns.size();
    }
    if (a.columns.size() > 0xffff'ffffU) {
      throw usage_error(error_number(1106), fmt::format("{}: PE {} has {} non-zeros, more than 2^32; take more PEs",
                                                        one_line(name()), me.index(), a.columns.size()));
    }
    return a;
  };
  if (!from_file()) {
    const std::uint32_t n = height(me.count());
    const graph::random_matrix random(n, n, nonzeros_, job_.seed());
    return fill(n, n, [&](std::uint32_t row, std::vector<std::uint32_t>& to) { random.append_row(row, to); });
  }
  if (me.ranks() > 1) {
    expect_same(me, one_line(file_),
                fingerprint(fingerprint<std::uint64_t>(width_, whole_.offsets),
                            std::span<const graph::vertex>(whole_.columns)));
  }
  return fill(height(me.count()), width_, [&](std::uint32_t row, std::vector<std::uint32_t>& to) {
    const auto columns = whole_.row(row);
    to.insert(to.end(), columns.begin(), columns.end());
  });
}

// --- what is right ---

permutation columns_under(pgas::pe& me, const matrix& a, pgas::symmetric<permutation>& c) {
  pgas::symmetric<permutation> found(me, a.columns.size());
  pgas::actor_of asked(c, found);
  for (std::uint32_t i = 0; i < a.columns.size(); ++i) {
    const auto [pe, spot] = a.home.where(a.columns[i]);
    asked.ask(
        pe, [spot](permutation& there, permutation&) { return there[spot]; },
        [i](permutation&, permutation& here, std::uint32_t value) { here[i] = value; });
  }
  asked.finish();
  return std::move(*found);
}

bool is_permutation(pgas::pe& me, const permutation& mine, std::uint64_t total) {
  const dealt home(me.index(), me.count());
  pgas::symmetric<std::vector<std::uint8_t>> seen(me, home.count(total));
  pgas::actor_of marks(seen);
  std::uint64_t wrong = mine.size() != seen->size();
  for (const auto value : mine) {
    if (value >= total) {
      ++wrong;
      continue;
    }
    const auto [pe, spot] = home.where(value);
    marks.send(pe, [spot](std::vector<std::uint8_t>& there) { there[spot] = 1; });
  }
  marks.finish();
  return me.sum(wrong + static_cast<std::uint64_t>(std::count(seen->begin(), seen->end(), 0))) == 0;
}

// --- all of it on PE 0 ---

void sort_entries(std::vector<graph::edge>& entries) {
  std::sort(entries.begin(), entries.end(),
            [](const graph::edge& x, const graph::edge& y) { return std::pair(x.a, x.b) < std::pair(y.a, y.b); });
}

graph::matrix_entries collect(pgas::pe& me, const matrix& a) {
  pgas::symmetric<std::vector<graph::edge>> all(me);
  pgas::actor_of collector(all);
  for (std::uint32_t l = 0; l < a.count(); ++l) {
    in_pieces(a.row(l), most_items(me, 4), [&](std::uint32_t, std::span<const std::uint32_t> piece) {
      collector.send(0, piece, [row = a.home.global(l)](auto& entries, std::span<const std::uint32_t> columns) {
        for (const auto column : columns) entries.push_back({row, column});
      });
    });
  }
  collector.finish();
  sort_entries(*all);
  return {a.height, a.width, std::move(*all)};
}

permutation collect(pgas::pe& me, const permutation& mine, std::uint64_t total) {
  pgas::symmetric<permutation> all(me, me.index() == 0 ? total : 0);
  pgas::actor_of collector(all);
  in_pieces(std::span<const std::uint32_t>(mine), most_items(me, 4),
            [&](std::uint32_t at, std::span<const std::uint32_t> piece) {
              collector.send(0, piece, [at](permutation& whole, std::span<const std::uint32_t> values, auto& here) {
                apps::place to{here.from(), at};
                for (const auto value : values) whole[to.global(here.count())] = value, ++to.spot;
              });
            });
  collector.finish();
  return std::move(*all);
}

namespace {

/// \param each  appends line i to the buffer
template <class Each>
void write_lines(const std::string& path, std::uint64_t lines, const std::string& head, Each each) {
  std::ofstream file(path);
  file << head;
  fmt::memory_buffer text;
  for (std::uint64_t i = 0; i < lines; ++i) {
    each(fmt::appender(text), i);
    if (text.size() < (1u << 16) && i + 1 != lines) continue;
    file.write(text.data(), static_cast<std::streamsize>(text.size()));
    text.clear();
  }
  if (!file.flush()) throw error(error_number(1104), "--output " + one_line(path) + ": " + std::strerror(errno));
}

}  // namespace

void write_matrix(const std::string& path, const graph::matrix_entries& whole) {
  write_lines(path, whole.entries.size(),
              fmt::format("%%MatrixMarket matrix coordinate pattern general\n{} {} {}\n", whole.rows, whole.columns,
                          whole.entries.size()),
              [&](fmt::appender to, std::uint64_t i) {
                const auto [row, column] = whole.entries[i];
                fmt::format_to(to, "{} {}\n", std::uint64_t{row} + 1, std::uint64_t{column} + 1);
              });
}

void write_permutation(const std::string& path, const permutation& whole) {
  write_lines(path, whole.size(), "", [&](fmt::appender to, std::uint64_t i) { fmt::format_to(to, "{}\n", whole[i]); });
}

std::vector<fact> matrix_facts(pgas::pe& me, const job& job, const std::string& application, const std::string& name,
                               const matrix& a, std::uint64_t nonzeros) {
  return {
      {"application", application, application + ", " + job.form_name() + " form"},
      {"pes", me.count(),
       fmt::format("{} on {} {}", me.count(), me.ranks(), me.ranks() == 1 ? "process" : "processes")},
      {"graph", name, one_line(name)},
      {"rows", a.height, with_commas(a.height)},
      {"columns", a.width, with_commas(a.width)},
      {"nonzeros", nonzeros, with_commas(nonzeros)},
  };
}

fact nonzeros_moved(bool each_once) {
  return {"nonzeros_moved", each_once ? "each once" : "lost, doubled or misplaced",
          each_once ? "each once" : "NO: some are lost, doubled or misplaced"};
}

void report(const job& job, std::vector<fact> facts, const matrix_input& input, const pgas::traffic& moved,
            double seconds) {
  facts.push_back({"seconds_to_load", input.seconds_to_load(), fmt::format("{:.3f}", input.seconds_to_load())});
  for (auto& f : traffic_facts(moved, seconds)) facts.push_back(f);
  job.report(facts);
}

}  // namespace shunt::apps
