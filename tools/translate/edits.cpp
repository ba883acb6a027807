#include "edits.hpp"

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace shunt::translate {

namespace {

/// Lines with their ends: the last one may have none.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

/// A line of a difference: ' ' in both, '-' before only, '+' after only.
struct marked {
  char mark;
  std::string_view line;
};

/// The longest common subsequence, by a table of what lies between the common head and the common tail: the changes of
/// a translation are small.
std::vector<marked> compare(const std::vector<std::string_view>& a, const std::vector<std::string_view>& b) {
  std::size_t head = 0, tail = 0;
  while (head < a.size() && head < b.size() && a[head] == b[head]) ++head;
  while (tail < a.size() - head && tail < b.size() - head && a[a.size() - 1 - tail] == b[b.size() - 1 - tail]) ++tail;
  const std::size_t m = a.size() - head - tail, n = b.size() - head - tail;
  std::vector<std::vector<unsigned>> common(m + 1, std::vector<unsigned>(n + 1));
  for (std::size_t i = m; i-- > 0;)
    for (std::size_t k = n; k-- > 0;)
      common[i][k] =
          a[head + i] == b[head + k] ? common[i + 1][k + 1] + 1 : std::max(common[i + 1][k], common[i][k + 1]);
  std::vector<marked> all;
  for (std::size_t i = 0; i < head; ++i) all.push_back({' ', a[i]});
  for (std::size_t i = 0, k = 0; i < m || k < n;) {
    if (i < m && k < n && a[head + i] == b[head + k]) {
      all.push_back({' ', a[head + i]}), ++i, ++k;
    } else if (k == n || (i < m && common[i + 1][k] >= common[i][k + 1])) {
      all.push_back({'-', a[head + i++]});
    } else {
      all.push_back({'+', b[head + k++]});
    }
  }
  for (std::size_t i = a.size() - tail; i < a.size(); ++i) all.push_back({' ', a[i]});
  return all;
}

/// "12,7", or "12" for one line; of no line the one before, as diff does.
std::string range_of(std::size_t first, std::size_t count) {
  const auto shown = std::to_string(count == 0 ? first : first + 1);
  return count == 1 ? shown : shown + ',' + std::to_string(count);
}

}  // namespace

void edits::replace(std::size_t begin, std::size_t end, std::string text) {
  all_.push_back({begin, end, std::move(text)});
}

void edits::add_outside(const edits& other) {
  const auto count = all_.size();
  for (const auto& c : other.all_) {
    const auto within = [&c](const change& mine) {
      return mine.begin < mine.end && mine.begin <= c.begin && c.end <= mine.end &&
             (c.begin != c.end || (mine.begin < c.begin && c.end < mine.end));
    };
    if (std::none_of(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(count), within)) all_.push_back(c);
  }
}

std::string edits::apply(const std::string& original) const {
  auto sorted = all_;
  std::ranges::stable_sort(sorted, {}, [](const change& c) { return std::pair(c.begin, c.end); });
  std::string result;
  std::size_t done = 0;
  for (const auto& c : sorted) {
    if (c.begin < done || c.end < c.begin || c.end > original.size()) throw std::logic_error("two edits overlap");
    result.append(original, done, c.begin - done).append(c.text);
    done = c.end;
  }
  return result.append(original, done);
}

std::string unified_diff(const std::string& name, const std::string& new_name, const std::string& before,
                         const std::string& after) {
  constexpr std::size_t context = 3;
  const auto all = compare(lines_of(before), lines_of(after));
  std::string text;
  std::size_t old_line = 0, new_line = 0;  // of all[at]
  for (std::size_t at = 0; at < all.size();) {
    if (all[at].mark == ' ') {
      ++at, ++old_line, ++new_line;
      continue;
    }
    // A hunk: from the context before this change to the one behind the last change that is near.
    const auto before_it = std::min(at, context);
    auto end = at, quiet = std::size_t{0};
    for (auto i = at; i < all.size() && quiet <= 2 * context; ++i) {
      quiet = all[i].mark == ' ' ? quiet + 1 : 0;
      if (quiet == 0) end = i + 1;
    }
    end = std::min(end + context, all.size());
    std::string body;
    std::size_t removed = 0, added = 0;
    for (auto i = at - before_it; i < end; ++i) {
      body.append(1, all[i].mark).append(all[i].line);
      if (!all[i].line.ends_with('\n')) body += "\n\\ No newline at end of file\n";
      removed += all[i].mark != '+', added += all[i].mark != '-';
    }
    if (text.empty()) text = "--- " + name + "\n+++ " + new_name + '\n';
    text += "@@ -" + range_of(old_line - before_it, removed) + " +" + range_of(new_line - before_it, added) + " @@\n";
    text += body;
    old_line += removed - before_it, new_line += added - before_it, at = end;
  }
  return text;
}

}  // namespace shunt::translate
