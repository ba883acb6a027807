/// The parts of symmetric objects, by number: what a message that names an object finds where it is handled.
///
/// The PEs of a job construct and destroy their symmetric objects in the same order, and each takes the lowest number
/// that is free: so an object has the same name on every PE.
///
///   name   generation << 24 | number      generation: how many objects have had the number before, modulo 256
///
/// Invariants
///   local.L1  A worker's thread alone touches its object.
///   local.L2  A name is given to a handler of PE p only while p's part of that number exists, has that generation, and
///             is of that type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <shunt/pgas/detail/arrival.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

/// Its address stands for a type, in this process.
template <class T>
inline constexpr char type_mark = 0;

class local_parts {
 public:
  /// \param handlers  those of the worker
  local_parts(const running_handler& handlers, int first_pe, int pes_here) noexcept
      : handlers_(handlers), first_pe_(first_pe), pes_here_(static_cast<std::size_t>(pes_here)) {}

  /// A PE of this worker constructs its part of an object. \return its name
  std::uint32_t add(int pe, void* object, const void* type);
  /// The PE destroys it.
  void remove(int pe, std::uint32_t name) noexcept;

  /// The calling thread is the worker's.
  void own_thread() noexcept { here = {parts_.data(), per_pe_, first_pe_, &handlers_, this}; }
  /// A thread may outlive the job.
  void leave_thread() noexcept {
    if (here.owner == this) here = {};
  }

  /// A handler calls. \return its PE's part of that name
  /// \throws usage_error outside a handler, and where the PE has no such object of that type. \param type_name  for it
  [[nodiscard]] static void* of_handler(std::uint32_t name, const void* type, std::string_view (*type_name)()) {
    if (here.handlers == nullptr || !here.handlers->any()) [[unlikely]]
      refuse_outside(type_name());
    const std::uint32_t number = name & (most - 1);
    if (number >= here.per_pe) [[unlikely]]
      here.owner->refuse_missing(type_name());
    const auto local = static_cast<unsigned>(here.handlers->pe() - here.first_pe);
    const part& p = here.parts[local * here.per_pe + number];
    if (p.of != mark(type, name)) [[unlikely]]
      here.owner->refuse_missing(type_name());
    return p.object;
  }

 private:
  static constexpr std::uint32_t generation_at = 24;
  static constexpr std::uint32_t most = 1U << generation_at;  // objects of a PE at once

  struct part {
    void* object = nullptr;  // null: the number is free
    std::uint64_t of = 0;    // type and generation
    std::uint32_t generation = 0;
  };
  /// No two types and generations have the same one: addresses have 56 bits at most.
  [[nodiscard]] static std::uint64_t mark(const void* type, std::uint32_t name) noexcept {
    return reinterpret_cast<std::uintptr_t>(type) ^ std::uint64_t{name >> generation_at} << 56;
  }
  struct of_this_thread {
    const part* parts = nullptr;
    std::size_t per_pe = 0;
    int first_pe = 0;
    const running_handler* handlers = nullptr;
    const local_parts* owner = nullptr;
  };

  [[nodiscard]] part& at(int pe, std::size_t number) noexcept {
    return parts_[static_cast<std::size_t>(pe - first_pe_) * per_pe_ + number];
  }
  [[noreturn, gnu::cold]] static void refuse_outside(std::string_view type_name);
  [[noreturn, gnu::cold]] void refuse_missing(std::string_view type_name) const;

  // As this_threads_sending (outbound.hpp).
  static constinit thread_local of_this_thread here [[gnu::tls_model("initial-exec")]];

  const running_handler& handlers_;
  int first_pe_;
  std::size_t pes_here_;
  std::size_t per_pe_ = 0;   // numbers that there is room for
  std::vector<part> parts_;  // by PE, then by number
};

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
