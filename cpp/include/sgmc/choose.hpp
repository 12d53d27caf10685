// The inverse CDF over lanes: a choice in proportion to weights.
//
// Weights are summed lane by lane over blocks of sixteen, and the running sums are kept. The CDF is
// inverted first over the sixteen lane totals, then over the blocks inside the chosen lane: any
// fixed order of the choices is a valid one, and this one needs a single prefix sum.
#pragma once

#include "sgmc/simd.hpp"

namespace sgmc::SGMC_ISA {

/// The lane in which the inverse CDF ends, and the remaining target within it, in all lanes.
struct LaneChoice {
  int lane;
  F16 inside;
};

/// The lane that contains `target`, which is uniform below the sum of all weights; `before` and
/// `cumulative` are sums of the lanes before each lane, without and with the lane itself.
SGMC_INLINE LaneChoice choose_lane(F16 before, F16 cumulative, F16 target) {
  int const passed = popcount(lanes(cumulative <= target));
  int const chosen = passed < 15 ? passed : 15;
  return {chosen, splat(target - before, chosen)};
}

/// The position within that lane, from the running sums of blocks: 16 block + lane, at most `last`,
/// which pads could exceed; a remainder beyond all blocks, due to rounding, is in the last block.
/// `Blocks` is the number of blocks, or 0 to read it from `blocks`.
template <int Blocks>
SGMC_INLINE int choose_block(LaneChoice at, int blocks, float const* sums, int last) {
  U16 below = u16(0);
  int const n = Blocks > 0 ? Blocks : blocks;
#pragma GCC unroll 8
  for (int b = 0; b + 1 < n; ++b)
    below = add_where(load(sums + 16 * b) <= at.inside, below, u16(1));
  int const position = (Blocks == 1 ? 0 : 16 * lane(below, at.lane)) + at.lane;
  return position < last ? position : last;
}

/// Weights phi_k theta_k of a word, for many draws with `choose`: the running sums of blocks go to
/// `sums`, and the running sums of lanes (`before`, `cumulative`) to `totals`. Returns the sum of
/// the weights.
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

/// A topic, at most `last`, drawn in proportion to weights prepared by `weigh`; u is uniform in [0,
/// 1).
template <int Blocks>
SGMC_INLINE int choose(float u, int blocks, float const* sums, float const* totals, int last) {
  F16 const cumulative = load(totals + 16);
  F16 const target = f16(u) * splat(cumulative, 15);
  return choose_block<Blocks>(choose_lane(load(totals), cumulative, target), blocks, sums, last);
}

/// Runs `run.operator()<Blocks>()` with the number of blocks as a constant if it is listed, so that
/// loops are unrolled, else with 0. Not used on processors from before AVX2, where four lanes at a
/// time gain nothing and each copy takes seconds to compile.
template <int... Blocks, class Run>
SGMC_INLINE void by_blocks(std::int64_t blocks, Run const& run) {
#if !defined(__SSE2__) || defined(__AVX2__)
  if (((blocks == Blocks && (run.template operator()<Blocks>(), true)) || ...)) return;
#endif
  (void)blocks;
  run.template operator()<0>();
}

}  // namespace sgmc::SGMC_ISA
