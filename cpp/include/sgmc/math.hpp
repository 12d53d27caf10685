// Elementary functions in 16 lanes of float32, by minimax polynomials, with the same bits on every
// instruction set. Errors are those of the result rounded to float32, in units of its last place,
// over the valid range; tests/unit/test_kernels_random.py checks every bound.
#pragma once

#include "sgmc/simd.hpp"

namespace sgmc::SGMC_ISA {

/// c_0 + c_1 x + ..., divided by Estrin's scheme: the chain of dependent operations, for which a
/// full vector waits, grows with the logarithm of the degree.
template <int N>
SGMC_INLINE F16 polynomial(F16 x, float const* c) {
  if constexpr (N == 1) {
    return f16(c[0]);
  } else if constexpr (N == 2) {
    return f16(c[0]) + f16(c[1]) * x;
  } else {
    constexpr int half = N > 4 ? 4 : 2;
    F16 const x2 = x * x;
    return polynomial<half>(x, c) + (half == 4 ? x2 * x2 : x2) * polynomial<N - half>(x, c + half);
  }
}
template <int N>
SGMC_INLINE F16 polynomial(F16 x, float const (&c)[N]) {
  return polynomial<N>(x, static_cast<float const*>(c));
}

/// log x. Lanes: float32. Valid range: [1.2e-38, 3.4e38], all normal positive numbers.
/// Maximal error: 1 ulp.
SGMC_INLINE F16 log(F16 x) {
  // x = 2^e m with m in [sqrt(1/2), sqrt(2)): log x = e ln 2 + log(1 + f), f = m - 1
  U16 const u = bits(x) + u16(0x40000000u - 0x3f3504f3u);
  F16 const e = to_float(shr(u, 23)) - f16(128.0f);
  F16 const f = as_float((u & u16(0x007fffffu)) + u16(0x3f3504f3u)) - f16(1.0f);
  static constexpr float c[] = {0.333333317f, -0.250008211f, 0.200012267f, -0.166233565f,
                                0.142017625f, -0.131601951f, 0.127615503f, -0.0763442984f};
  F16 const s = f * f;
  F16 const tail = polynomial(f, c) * f * s + e * f16(-2.12194440e-4f);
  return f + (tail - f16(0.5f) * s) + e * f16(0.693359375f);
}

/// exp(x). Lanes: float32. Valid range: all numbers; below -87.3, with a subnormal result, it falls
/// to 0, and above 88 it is exp(88). Maximal error on [-87.3, 88]: 1 ulp.
SGMC_INLINE F16 exp(F16 x) {
  F16 const y = max(min(x, f16(88.0f)), f16(-104.0f));
  F16 const n = floor(y * f16(1.44269504f) + f16(0.5f));
  F16 const r = (y - n * f16(0.693359375f)) - n * f16(-2.12194440e-4f);
  static constexpr float c[] = {0.499999931f, 0.166665148f, 0.0416684568f, 0.00836941904f,
                                0.00138131424f};
  F16 const p = f16(1.0f) + (r + r * r * polynomial(r, c));
  F16 const scaled = p * as_float(shl(to_int(max(n, f16(-126.0f))) + u16(127), 23));
  return select(n < f16(-126.0f), f16(0.0f), scaled);
}

/// 1 - exp(-x). Lanes: float32. Valid range: [0, inf]. Maximal error: 2.5 ulp.
SGMC_INLINE F16 expm1m(F16 x) {
  static constexpr float c[] = {0.999999999f,   -0.499999823f,  0.16666248f,
                                -0.0416304133f, 0.00819039118f, -0.00112402588f};
  return select(x < f16(0.5f), x * polynomial(min(x, f16(0.5f)), c), f16(1.0f) - exp(-x));
}

/// sin and cos of (pi/4) t. Lanes: float32. Valid range: [-1, 1]. Maximal error: 2 ulp each.
SGMC_INLINE void sincos_quarter(F16 t, F16& sine, F16& cosine) {
  F16 const x = t * f16(0.785398163f);
  F16 const s = x * x;
  static constexpr float a[] = {-0.166666549f, 0.00833217814f, -0.000195172979f};
  static constexpr float b[] = {0.0416666469f, -0.00138873675f, 2.44384497e-05f};
  sine = x + x * s * polynomial(s, a);
  cosine = f16(1.0f) - f16(0.5f) * s + s * s * polynomial(s, b);
}

}  // namespace sgmc::SGMC_ISA
