#include <shunt/pgas/pe.hpp>

#include <algorithm>

#include <shunt/pgas/detail/pe_worker.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {

pe::pe(detail::pe_worker& home, int index) noexcept : home_(&home), index_(index) {
  home.out.own_thread();
  home.parts.own_thread();
}

int pe::count() const noexcept { return home_->facts.pes; }
int pe::rank() const noexcept { return home_->job().carrier().rank(); }
int pe::ranks() const noexcept { return home_->job().carrier().ranks(); }
std::size_t pe::train_bytes() const noexcept { return home_->out.pool().capacity(); }
int pe::hops() const noexcept { return home_->facts.hops; }

void pe::barrier() {
  home_->refuse_in_task(index_, "barrier()");
  home_->collective.barrier(index_);
}

std::vector<std::vector<std::byte>> pe::gather_bytes(std::span<const std::byte> mine) {
  home_->refuse_in_task(index_, "gather()");
  home_->refuse_early_operand(index_, "gather()", mine);
  return *home_->collective.gather(index_, mine);
}

std::vector<std::byte> pe::broadcast_bytes(std::span<const std::byte> mine, int root) {
  home_->refuse_in_task(index_, "broadcast()");
  if (root < 0 || root >= count()) {
    throw usage_error(error_number(936),
                      "PE " + std::to_string(index_) + ": broadcast from PE " + std::to_string(root) +
                          ", but the job has PEs 0.." + std::to_string(count() - 1),
                      {.pe = index_});
  }
  if (index_ == root) home_->refuse_early_operand(index_, "broadcast()", mine);
  const auto all = home_->collective.gather(index_, index_ == root ? mine : std::span<const std::byte>{});
  for (int p = 0; p < count(); ++p) {
    if (p == root || (*all)[static_cast<std::size_t>(p)].empty()) continue;
    throw error(error_number(937),
                "PE " + std::to_string(index_) + ": PEs disagree: one is in broadcast() from PE " +
                    std::to_string(root) + " while another is in broadcast() from PE " + std::to_string(p) +
                    "; every PE must name the same root",
                {.pe = index_});
  }
  return (*all)[static_cast<std::size_t>(root)];
}

void pe::reduce_bytes(std::span<const std::byte> operand, std::span<std::byte> mine,
                      void (*combine)(std::byte*, const std::byte*)) {
  home_->refuse_in_task(index_, "reduce()");
  home_->refuse_early_operand(index_, "reduce()", operand);
  home_->collective.reduce(index_, mine, combine);
}

bool pe::scan_bytes(std::span<const std::byte> operand, std::span<std::byte> mine,
                    void (*combine)(std::byte*, const std::byte*)) {
  home_->refuse_in_task(index_, "scan()");
  home_->refuse_early_operand(index_, "scan()", operand);
  return home_->collective.scan(index_, mine, combine);
}

void pe::check_bytes(std::span<const std::byte> bytes, std::size_t unit, bool one) const {
  if (one ? bytes.size() == unit : bytes.size() % unit == 0) return;
  throw error(error_number(938),
              "PE " + std::to_string(index_) + ": PEs disagree: one is in gather() or broadcast() of values of " +
                  std::to_string(unit) + " bytes while another gives " + std::to_string(bytes.size()) +
                  " bytes; every PE must name the same root and the same type",
              {.pe = index_});
}

std::vector<std::string> pe::gather(const std::string& mine) {
  std::vector<std::string> all;
  for (const auto& bytes : gather_bytes(std::as_bytes(std::span(mine)))) {
    all.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return all;
}

pgas::traffic pe::traffic() {
  // One PE of each worker speaks for it.
  pgas::traffic all = index_ == home_->facts.first_pe ? home_->out.moved() : pgas::traffic{};
  const auto add = [](const pgas::traffic& a, const pgas::traffic& b) {
    auto c = a;
    return c += b;
  };
  home_->refuse_in_task(index_, "traffic()");
  // Not reduce(): counts of what has been sent are no operand that messages could change.
  home_->collective.reduce(index_, std::as_writable_bytes(std::span(&all, 1)),
                           detail::combine_as<pgas::traffic, std::remove_const_t<decltype(add)>>);
  return all;
}

/// Numbers go round: an old one comes again only after 65,534 others, when no PE can lag behind its end any more.
std::uint16_t pe::next_selector_id() {
  do {
    last_selector_id_ =
        last_selector_id_ == 0xffff ? std::uint16_t{1} : static_cast<std::uint16_t>(last_selector_id_ + 1);
  } while (std::find(selector_ids_in_use_.begin(), selector_ids_in_use_.end(), last_selector_id_) !=
           selector_ids_in_use_.end());
  selector_ids_in_use_.push_back(last_selector_id_);
  return last_selector_id_;
}

void pe::free_selector_id(std::uint16_t id) {
  selector_ids_in_use_.erase(std::find(selector_ids_in_use_.begin(), selector_ids_in_use_.end(), id));
}

std::uint32_t pe::add_part(void* part, const void* type) {
  home_->refuse_in_task(index_, "the construction of a symmetric object");
  return home_->parts.add(index_, part, type);
}
void pe::remove_part(std::uint32_t name) noexcept {
  if (!home_->owns_thread()) {
    home_->job().fail(
        error_number(943).added_to("PE " + std::to_string(index_) + ": a task destroys a symmetric object: the PE's " +
                                   "program must, once its tasks have ended"),
        detail::job_link::fault::usage);
    return;
  }
  home_->parts.remove(index_, name);
}

}  // namespace pgas
}  // namespace v1
}  // namespace shunt
