// Which lanes of a vector are valid at the end of a row or a list.
#pragma once

#include "sgmc/simd.hpp"

namespace sgmc::SGMC_ISA {

/// The lanes of columns k .. k + 15 that are below `columns`; empty if k is not below it.
SGMC_INLINE M16 real_lanes(std::int64_t columns, std::int64_t k) {
  return iota() < u16(static_cast<std::uint32_t>(columns - k));  // signed
}

/// The first n lanes as bits, n >= 0.
SGMC_INLINE std::uint32_t first_lanes(std::int64_t n) { return n >= 16 ? 0xffffu : (1u << n) - 1u; }

}  // namespace sgmc::SGMC_ISA
