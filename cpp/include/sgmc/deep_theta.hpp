// theta of a layer of deep LDA: gamma variates for a vector of shapes, most of which are far below
// 1.
#pragma once

#include "sgmc/compress.hpp"
#include "sgmc/deep.hpp"
#include "sgmc/draws.hpp"
#include "sgmc/lanes.hpp"
#include "sgmc/limits.hpp"

namespace sgmc::SGMC_ISA {

/// Cells that wait for an attempt to draw their gamma variate.
struct Waiting {
  float* shape;
  std::int32_t* at;
  std::int64_t n;
  SGMC_INLINE void push(std::uint32_t m, U16 cells, F16 a) {
    compress(at + n, m, cells);
    n += compress(shape + n, m, a);
  }
};

/// Sixteen waiting cells, from `i` of `n` on, filled up with harmless values at the end.
SGMC_INLINE std::uint32_t take(Waiting const& from, std::int64_t i, std::int64_t n, U16& cells,
                               F16& shape) {
  cells = load_u(from.at + i);
  shape = load(from.shape + i);
  if (n - i >= 16) return 0xffffu;
  M16 const real = real_lanes(n, i);
  shape = select(real, shape, f16(0.5f));
  return lanes(real);
}

SGMC_INLINE void put(float* to, std::uint32_t m, U16 cells, F16 x) {
  alignas(64) std::int32_t at[16];
  alignas(64) float value[16];
  store(at, cells);
  store(value, x);
  for (; m; m &= m - 1) {
    int const l = __builtin_ctz(m);
    to[at[l]] = value[l];
  }
}

/// out_k = max(scale Gamma(shape_k + total_k), floor) for `topics` topics, pads 0; false if a shape
/// is NaN, so that some are not drawn.
///
/// Most topics have no token and a shape far below 1: a first pass tries all such topics at once.
/// The rest waits in two queues and is drawn in full vectors.
inline bool draw_theta(float const* shape, float const* total, std::int64_t stride,
                       std::int32_t topics, float scale, float* out, DeepScratch const& scratch,
                       std::int64_t room, Draws& draws) {
  Waiting small{scratch.waiting, scratch.at, 0};
  Waiting large{scratch.waiting + room, scratch.at + room, 0};
  F16 const one = f16(1.0f);
  for (std::int64_t k = 0; k < stride; k += 16) {
    std::uint32_t const real = first_lanes(topics - k);
    F16 const a = max(load(shape + k) + load(total + k), f16(kThetaFloor));
    std::uint32_t const below = lanes(a < one) & real;
    U16 const cells = iota() + u16(static_cast<std::uint32_t>(k));
    M16 ok;
    F16 const u = draws.open(), w = draws.open();
    F16 const x = small_gamma_attempt(min(a, one), u, w, ok);
    store(out + k, x);
    small.push(below & ~lanes(ok), cells, a);
    large.push(real & ~below, cells, a);
  }
  std::uint32_t round = 0;  // for both queues, so that their chains of operations overlap
  for (; (small.n > 0 || large.n > 0) && round < kAttempts; ++round) {
    std::int64_t const few = small.n, many = large.n;
    small.n = large.n = 0;
    for (std::int64_t i = 0; i < few || i < many; i += 16) {
      U16 cells;
      F16 a;
      M16 ok;
      if (i < few) {
        std::uint32_t const used = take(small, i, few, cells, a);
        F16 const u = draws.open(), w = draws.open();
        F16 const x = small_gamma_attempt(a, u, w, ok);
        put(out, used & lanes(ok), cells, x);
        small.push(used & ~lanes(ok), cells, a);
      }
      if (i < many) {
        std::uint32_t const used = take(large, i, many, cells, a);
        F16 const z = draws.normal();
        F16 const x = gamma_attempt(max(a, one), z, draws.open(), ok);
        put(out, used & lanes(ok), cells, x);
        large.push(used & ~lanes(ok), cells, a);
      }
    }
  }
  F16 const by = f16(scale), floor = f16(kThetaFloor);
  for (std::int64_t k = 0; k < stride; k += 16) store(out + k, max(load(out + k) * by, floor));
  for (std::int64_t k = topics; k < stride; ++k) out[k] = 0.0f;
  return small.n == 0 && large.n == 0;
}

}  // namespace sgmc::SGMC_ISA
