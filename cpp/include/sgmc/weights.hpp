// A choice in proportion to products: their sums once, then one inverse CDF for every token.
#pragma once

#include "sgmc/simd.hpp"

namespace sgmc::SGMC_ISA {

/// Weights phi_k theta_k of a word: sums over blocks of topics, lane by lane, are left in `sums`,
/// the last of them and their prefix sums in `totals`.
template <int Blocks>
SGMC_INLINE float weigh(float const* phi, float const* theta, int blocks, float* sums,
                        float* totals) {
  F16 running = f16(0.0f);
  int const n = Blocks > 0 ? Blocks : blocks;
#pragma GCC unroll 8
  for (int b = 0; b < n; ++b) {
    running = running + load(phi + 16 * b) * load(theta + 16 * b);
    store(sums + 16 * b, running);
  }
  F16 const cumulative = prefix(running);
  store(totals, cumulative - running);
  store(totals + 16, cumulative);
  return lane(cumulative, 15);
}

/// A topic in proportion to weights as `weigh` left them.
template <int Blocks>
SGMC_INLINE int choose(float u, int blocks, float const* sums, float const* totals) {
  F16 const cumulative = load(totals + 16);
  F16 const target = f16(u) * splat(cumulative, 15);
  int const passed = popcount(lanes(cumulative <= target));
  int const chosen = passed < 15 ? passed : 15;
  F16 const inside = splat(target - load(totals), chosen);
  U16 below = u16(0);
  int const n = Blocks > 0 ? Blocks : blocks;
#pragma GCC unroll 8
  for (int b = 0; b < n; ++b) below = add_where(load(sums + 16 * b) <= inside, below, u16(1));
  return 16 * lane(below, chosen) + chosen;
}

}  // namespace sgmc::SGMC_ISA
