// Random variates in double, one at a time, for state stored as logarithms; exact far into the
// sparse tail.
#pragma once

#include <cstdint>

#include "sgmc/limits.hpp"
#include "sgmc/philox.hpp"

namespace sgmc::SGMC_ISA {

/// The random words of one cell in order: block j = topic + stride * ordinal of entity w.
struct CellWords {
  Stream stream;
  std::uint64_t entity;
  std::uint32_t at, stride;
  Block4 block{};
  bool half = false;

  /// Uniform in (0, 1), 53 bits.
  SGMC_INLINE double uniform() {
    if (!half) {
      block = stream.block(at, entity);
      at += stride;
    }
    std::uint64_t const hi = half ? block.x[2] : block.x[0], lo = half ? block.x[3] : block.x[1];
    half = !half;
    return (static_cast<double>(((hi << 32) | lo) >> 11) + 0.5) * 0x1p-53;
  }
};

SGMC_INLINE double normal(CellWords& w) {
  double const u = w.uniform(), v = w.uniform();
  return __builtin_sqrt(-2.0 * __builtin_log(u)) * __builtin_cos(6.283185307179586 * v);
}

/// Log of Gamma(a, 1) for any a > 0 (Marsaglia and Tsang; for a below 1, at a + 1 with log(U)/a
/// added); NaN if a is NaN.
SGMC_INLINE double log_gamma_variate(double a, CellWords& w) {
  double const shape = a < 1.0 ? a + 1.0 : a;
  double const d = shape - 1.0 / 3.0, c = 1.0 / __builtin_sqrt(9.0 * d);
  double log_x = __builtin_nan("");
  for (std::uint32_t attempt = 0; attempt < kAttempts; ++attempt) {
    double const z = normal(w), t = 1.0 + c * z;
    if (t <= 0.0) continue;
    double const v = t * t * t;
    if (__builtin_log(w.uniform()) < 0.5 * z * z + d - d * v + d * __builtin_log(v)) {
      log_x = __builtin_log(d) + __builtin_log(v);
      break;
    }
  }
  return a < 1.0 ? log_x + __builtin_log(w.uniform()) / a : log_x;
}

/// (1 + x) log(1 + x) - x, without cancellation near 0.
SGMC_INLINE double entropy_gap(double x) {
  if (x > 0.1 || x < -0.1) return (1.0 + x) * __builtin_log1p(x) - x;
  double sum = 0.0, power = x * x;
  for (int n = 2; n < 20; ++n) {
    sum += power / (n * (n - 1.0));
    power *= -x;
  }
  return sum;
}

/// Poisson(mu): inversion below 10, transformed rejection (Hörmann 1993) above. Words53 is any type
/// with `uniform()`, 53 bits. NaN if mu is NaN.
template <class Words53>
SGMC_INLINE double poisson_variate(double mu, Words53& w) {
  if (mu < 10.0) {
    double const v = w.uniform();
    double term = __builtin_exp(-mu), tail = -__builtin_expm1(-mu), n = 0.0;
    while (v < tail && n < 200.0) {
      n += 1.0;
      term *= mu / n;
      tail -= term;
    }
    return n;
  }
  double const b = 0.931 + 2.53 * __builtin_sqrt(mu), a = 0.02483 * b - 0.059;
  double const inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), vr = 0.9277 - 3.6224 / (b - 2.0);
  for (std::uint32_t attempt = 0; attempt < kAttempts; ++attempt) {
    double const u = w.uniform() - 0.5, v = w.uniform();
    double const us = 0.5 - __builtin_fabs(u);
    double const k = __builtin_floor((2.0 * a / us + b) * u + mu + 0.43);
    if (us >= 0.07 && v <= vr) return k;
    if (k < 0.0 || (us < 0.013 && v > us)) continue;
    double log_pmf = -mu;
    if (k > 0.5) {
      double const r = 1.0 / k;
      log_pmf = -mu * entropy_gap((k - mu) / mu) -
                r * (1.0 / 12.0 - r * r * (1.0 / 360.0 - r * r / 1260.0)) -
                0.5 * __builtin_log(6.283185307179586 * k);
    }
    if (__builtin_log(v * inverse_alpha / (a / (us * us) + b)) <= log_pmf) return k;
  }
  return __builtin_nan("");
}

}  // namespace sgmc::SGMC_ISA
