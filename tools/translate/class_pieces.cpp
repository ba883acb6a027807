#include "class_pieces.hpp"

#include <algorithm>
#include <tuple>

namespace shunt::translate::class_form {

void pieces::replace(byte_range where, std::function<std::string()> by) { all_.push_back({where, std::move(by)}); }

std::vector<const pieces::piece*> pieces::outermost(byte_range where) const {
  std::vector<const piece*> inside;
  for (const auto& p : all_) {
    if (where.first <= p.where.first && p.where.second <= where.second) inside.push_back(&p);
  }
  // What is inserted at a place comes before what is replaced there, and a piece before those in it.
  std::ranges::stable_sort(inside, {}, [](const piece* p) {
    const auto [begin, end] = p->where;
    return std::tuple(begin, begin != end, ~end);
  });
  std::size_t done = where.first;
  std::erase_if(inside, [&done](const piece* p) {
    if (p->where.first < done) return true;
    done = p->where.second;
    return false;
  });
  return inside;
}

std::string pieces::text(byte_range where) const {
  std::string all;
  std::size_t done = where.first;
  for (const auto* p : outermost(where)) {
    all.append(s_->text(), done, p->where.first - done).append(p->by());
    done = p->where.second;
  }
  return all.append(s_->text(), done, where.second - done);
}

std::vector<std::pair<byte_range, std::string>> pieces::changes() const {
  std::vector<std::pair<byte_range, std::string>> all;
  for (const auto* p : outermost({0, s_->text().size() + 1})) {
    all.emplace_back(p->where, with_ends(with_plain_ends(p->by()), s_->line_end()));
  }
  return all;
}

}  // namespace shunt::translate::class_form
