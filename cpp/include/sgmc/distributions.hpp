// Random variates in 16 lanes (float32 results), each from given random words; the caller manages
// the addresses and the rejection loops. Moments and distributions are tested in tests/statistical.
#pragma once

#include "sgmc/math.hpp"
#include "sgmc/philox.hpp"

namespace sgmc::SGMC_ISA {

/// A uniform point (x, y) on the unit circle: the low 29 bits give an angle in [-pi/4, pi/4), the
/// high 3 bits the quadrant pair and the signs.
SGMC_INLINE void unit_circle(U16 word, F16& x, F16& y) {
  F16 s, c;
  sincos_quarter(to_float(shl(word, 3)) * f16(0x1p-31f), s, c);
  M16 const swap = (word & u16(0x80000000u)) == u16(0u);
  U16 const sign_x = shl(word, 1) & u16(0x80000000u), sign_y = shl(word, 2) & u16(0x80000000u);
  x = as_float(bits(select(swap, s, c)) ^ sign_x);
  y = as_float(bits(select(swap, c, s)) ^ sign_y);
}

/// The squared radius of two independent N(0, 1): exponential with mean 2.
SGMC_INLINE F16 squared_radius(U16 word) { return f16(-2.0f) * log(uniform_open(word)); }

/// Two independent N(0, 1) by Box and Muller; |x| <= 6.7.
SGMC_INLINE void normal_pair(U16 a, U16 b, F16& x, F16& y) {
  F16 const r = sqrt(squared_radius(a));
  unit_circle(b, x, y);
  x = r * x;
  y = r * y;
}

/// One attempt at Gamma(shape, 1), shape >= 1, by Marsaglia and Tsang (2000) from a normal z and a
/// uniform u; `ok` if it is accepted. Their squeeze, u <= 1 - 0.0331 z^4, mostly suffices.
///
/// With d = shape - 1/3 and y = z / (3 sqrt d), the log acceptance ratio
/// z^2/2 + d (1 - (1+y)^3 + 3 log(1+y)) equals 3 d (log(1+y) - y + y^2/2 - y^3/3): near y = 0 this
/// is taken from its series, since the sum cancels to y^4 and d may be 1e8.
SGMC_INLINE F16 gamma_attempt(F16 shape, F16 z, F16 u, M16& ok) {
  F16 const d = shape - f16(1.0f / 3.0f);
  F16 const y = z / (f16(3.0f) * sqrt(d));
  F16 const t = f16(1.0f) + y, z2 = z * z;
  M16 const inside = f16(0.0f) < t;
  ok = inside & (u <= f16(1.0f) - f16(0.0331f) * z2 * z2);
  if (lanes(ok) != 0xffffu) {
    static constexpr float c[] = {-0.249999968f, 0.20000344f,  -0.166678224f, 0.142455088f,
                                  -0.124299631f, 0.122713536f, -0.113913749f};
    F16 const y2 = y * y;
    F16 const near = y2 * y2 * polynomial(max(min(y, f16(0.25f)), f16(-0.25f)), c);
    F16 const far = log(max(t, f16(1e-30f))) - y + f16(0.5f) * y2 - f16(1.0f / 3.0f) * y2 * y;
    F16 const ratio = f16(3.0f) * d * select(abs(y) < f16(0.25f), near, far);
    ok = ok | (inside & (log(u) < ratio));
  }
  return d * t * t * t;
}

/// 1/k, k = 0 .. 63 (0 is never read).
struct Reciprocals {
  float of[64] = {};
  constexpr Reciprocals() {
    for (int k = 1; k < 64; ++k) of[k] = 1.0f / static_cast<float>(k);
  }
};
inline constexpr Reciprocals kReciprocals;

/// Poisson(mu), mu <= 10, by inversion from the upper tail: the count is #{n >= 1: v < P(N >= n)}.
SGMC_INLINE F16 poisson_inversion(F16 mu, F16 v) {
  F16 const one = f16(1.0f);
  F16 term = exp(-mu), tail = expm1m(mu), n = f16(0.0f);
  for (int k = 1; k < 64; k += 2) {  // two at a time, which needs fewer branches for sixteen lanes
    M16 const more = v < tail;
    if (!lanes(more)) break;
    n = add_where(more, n, one);
    term = term * (mu * f16(kReciprocals.of[k]));
    tail = tail - term;
    n = add_where(v < tail, n, one);
    term = term * (mu * f16(kReciprocals.of[k + 1 < 64 ? k + 1 : 63]));
    tail = tail - term;
  }
  return n;
}

/// One attempt at Poisson(mu), mu >= 10, by transformed rejection (Hörmann 1993, PTRS) from two
/// uniforms; `ok` if it is accepted. The log pmf is evaluated in Loader's form
/// -log(2 pi k)/2 - 1/(12 k) - bd0(k, mu), in which no terms of size mu log mu cancel.
SGMC_INLINE F16 poisson_attempt(F16 mu, F16 u, F16 v, M16& ok) {
  F16 const root = sqrt(mu);
  F16 const b = f16(0.931f) + f16(2.53f) * root;
  F16 const a = f16(0.02483f) * b - f16(0.059f);
  F16 const inverse_alpha = f16(1.1239f) + f16(1.1328f) / (b - f16(3.4f));
  F16 const vr = f16(0.9277f) - f16(3.6224f) / (b - f16(2.0f));
  F16 const centred = u - f16(0.5f);
  F16 const us = max(f16(0.5f) - abs(centred), f16(1e-8f));
  F16 const k = floor((f16(2.0f) * a / us + b) * centred + mu + f16(0.43f));
  M16 const quick = (f16(0.07f) <= us) & (v <= vr);
  M16 const out = (k < f16(0.0f)) | ((us < f16(0.013f)) & (us < v));
  // bd0(k, mu) = mu ((1+x) log(1+x) - x), x = (k - mu)/mu
  F16 const x = (k - mu) / mu;
  static constexpr float c[] = {0.499999991f,  -0.166666608f,  0.0833361782f, -0.0500066189f,
                                0.0331876368f, -0.0236007248f, 0.0202078538f, -0.0163482345f};
  F16 const near = x * x * polynomial(max(min(x, f16(0.3f)), f16(-0.3f)), c);
  F16 const t = f16(1.0f) + x;
  F16 const far = t * log(max(t, f16(1e-30f))) - x;
  F16 const bd0 = mu * select(abs(x) < f16(0.3f), near, far);
  // Stirling's remainder of log k!: 1/(12k) - 1/(360k^3); k = 0 has log pmf -mu
  F16 const kk = max(k, f16(1.0f));
  F16 const r = f16(1.0f) / kk;
  F16 const stirling =
      r * (f16(1.0f / 12.0f) - r * r * (f16(1.0f / 360.0f) - r * r * f16(1.0f / 1260.0f)));
  F16 const log_pmf =
      select(k < f16(0.5f), -mu, -bd0 - stirling - f16(0.5f) * log(f16(6.28318531f) * kk));
  F16 const left = log(v * inverse_alpha / (a / (us * us) + b));
  ok = (quick | (left <= log_pmf)) & ~out;
  return k;
}

/// 1 + a/e: divided by a, it is the mass of the two pieces below.
SGMC_INLINE F16 small_gamma_hat(F16 a) { return f16(1.0f) + a * f16(0.367879441f); }

/// One attempt at Gamma(a, 1), 0 < a < 1, by Ahrens and Dieter (1974, GS) from two uniforms.
SGMC_INLINE F16 small_gamma_attempt(F16 a, F16 u, F16 w, M16& ok) {
  F16 const b = small_gamma_hat(a);
  F16 const p = b * u;
  M16 const body = p <= f16(1.0f);
  F16 const x_body = exp(log(p) / a);
  F16 const x_tail = -log(max(b - p, f16(1e-30f)) / a);
  F16 const x = select(body, x_body, x_tail);
  F16 const threshold = select(body, -x_body, (a - f16(1.0f)) * log(max(x_tail, f16(1e-30f))));
  ok = log(w) <= threshold;
  return x;
}

}  // namespace sgmc::SGMC_ISA
