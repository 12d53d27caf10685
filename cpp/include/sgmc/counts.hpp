// Integer counts to which all threads add, so that the order of additions does not matter.
#pragma once

#include <cstdint>

#include "sgmc/simd.hpp"

namespace sgmc::SGMC_ISA {

/// round(x * unit) for |x * unit| < 2^51, by the position of the binary point in a double.
SGMC_INLINE std::int64_t fixed_point(float x, double unit) {
  return __builtin_bit_cast(std::int64_t, static_cast<double>(x) * unit + 6755399441055744.0) -
         0x4338000000000000;
}

/// Adds round(x * unit) of 16 values to integers; `small` guarantees x < 128.
SGMC_INLINE void add_fixed(std::int64_t* out, float const* x, double unit, bool small) {
  if (small) return add_wide(out, round_int(load(x) * f16(static_cast<float>(unit))));
  for (int l = 0; l < 16; ++l) out[l] += fixed_point(x[l], unit);
}

enum : std::uint8_t { kUntouched, kTouched, kTaken };

/// Reserves a row of counts against all other threads; false if the row has no counts yet.
SGMC_INLINE bool take_row(std::uint8_t* state) {
  std::uint8_t was;
  while ((was = __atomic_exchange_n(state, kTaken, __ATOMIC_ACQUIRE)) == kTaken) {
  }
  return was == kTouched;
}

SGMC_INLINE void give_row(std::uint8_t* state) {
  __atomic_store_n(state, kTouched, __ATOMIC_RELEASE);
}

}  // namespace sgmc::SGMC_ISA
