#include <shunt/pgas/layout.hpp>

#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>

namespace pgas = shunt::pgas;

namespace {

/// Each element has one place, the places of a PE are 0..count-1, and element() is the inverse of where().
template <class Layout>
void expect_deal(Layout layout, std::uint64_t size, int pes) {
  layout.place_on(size, pes);
  std::vector<std::vector<bool>> taken(static_cast<std::size_t>(pes));
  std::uint64_t counted = 0;
  for (int pe = 0; pe != pes; ++pe) {
    taken[static_cast<std::size_t>(pe)].resize(layout.count(pe));
    counted += layout.count(pe);
  }
  bool right = counted == size;
  for (std::uint64_t i = 0; i != size; ++i) {
    const auto at = layout.where(i);
    right = right && at.pe >= 0 && at.pe < pes && at.spot < taken[static_cast<std::size_t>(at.pe)].size() &&
            !taken[static_cast<std::size_t>(at.pe)][at.spot] && layout.element(at.pe, at.spot) == i;
    if (right) taken[static_cast<std::size_t>(at.pe)][at.spot] = true;
    for (int pe = 0; pe != pes; ++pe)  // its own spot is the number of those before
      right = right && layout.below(pe, i + 1) - layout.below(pe, i) == (pe == at.pe ? 1 : 0) &&
              (pe != at.pe || layout.below(pe, i) == at.spot);
  }
  CAPTURE(size, pes);
  CHECK(right);
}

}  // namespace

TEST_CASE("layout: each element has one place, and each place one element") {
  for (const int pes : {1, 2, 3, 4, 7, 64, 100}) {
    for (const std::uint64_t size : {0, 1, 2, 5, 63, 64, 65, 100, 1000}) {
      expect_deal(pgas::cyclic(), size, pes);
      expect_deal(pgas::blocked(), size, pes);
      for (const std::uint32_t block : {1U, 2U, 3U, 16U, 1000U}) expect_deal(pgas::block_cyclic(block), size, pes);
    }
  }
}
