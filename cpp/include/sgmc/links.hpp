// Latent Poisson counts behind data that are not counts (Cong et al. 2017, section 2).
#pragma once

#include "sgmc/distributions_double.hpp"
#include "sgmc/draws.hpp"

namespace sgmc::SGMC_ISA {

/// Means from here on are refused, because so many events cannot be counted one by one.
inline constexpr auto kMaxMean = static_cast<double>(kMaxCollected);

/// Poisson(mu), in double, mu <= kMaxMean.
inline std::int64_t poisson(double mu, Draws& draws) {
  struct Uniforms {
    Draws& draws;
    double uniform() { return draws.precise(); }
  } words{draws};
  return static_cast<std::int64_t>(poisson_variate(mu, words));
}

/// Poisson(mean) given that it is at least 1 (Zhou 2015), which is the count behind a binary 1. -1
/// if the mean is NaN or above kMaxMean.
inline std::int64_t positive_poisson(double mean, Draws& draws) {
  if (!(mean >= 0.0 && mean <= kMaxMean)) return -1;
  std::uint32_t left = kAttempts;
  if (mean >= 1.0) {
    while (left--)
      if (std::int64_t const n = poisson(mean, draws); n > 0) return n;
    return -1;
  }
  // below 1: 1 + Poisson, accepted with probability 1/n, the ratio of the two distributions
  while (left--) {
    std::int64_t const n = 1 + poisson(mean, draws);
    if (n == 1 || draws.precise() * static_cast<double>(n) <= 1.0) return n;
  }
  return -1;
}

/// exp(-x) I_1(x), with I_1 the modified Bessel function, by its series or, from 30 on, its
/// expansion.
inline double scaled_bessel_i1(double x) {
  if (x < 30.0) {
    double const quarter = 0.25 * x * x;
    double term = 0.5 * x, sum = term;
    for (int k = 1; k < 200 && term > 1e-17 * sum; ++k) {
      term *= quarter / (k * (k + 1.0));
      sum += term;
    }
    return sum * __builtin_exp(-x);
  }
  double term = 1.0, sum = 1.0;
  for (int k = 1; k < 20; ++k) {
    double const odd = 2.0 * k - 1.0;
    double const next = -term * (4.0 - odd * odd) / (8.0 * k * x);
    if (__builtin_fabs(next) > __builtin_fabs(term)) break;
    term = next;
    sum += term;
  }
  return sum / __builtin_sqrt(6.283185307179586 * x);
}

/// The count behind a positive real y ~ Gamma(x, 1/a), x ~ Poisson(mean): a Bessel_{-1} variate,
///
///   P(x) = (alpha/2)^(2x-1) / (I_1(alpha) x! (x-1)!),  x = 1, 2, ...,  alpha = 2 sqrt(a y mean)
///
/// `product` is a y mean = alpha^2 / 4. From its mode outwards, by one uniform. -1 if that is NaN,
/// or if the mode, about its root, is above kMaxMean.
inline std::int64_t bessel(double product, Draws& draws) {
  if (!(product >= 0.0 && product <= kMaxMean * kMaxMean)) return -1;
  double const alpha = 2.0 * __builtin_sqrt(product);
  if (!(alpha > 1e-8)) return 1;
  auto mode = static_cast<std::int64_t>(0.5 * (1.0 + __builtin_sqrt(1.0 + alpha * alpha)));
  if (mode < 1) mode = 1;
  auto const m = static_cast<double>(mode);
  double const log_mode = (2.0 * m - 1.0) * __builtin_log(0.5 * alpha) - log_gamma(m + 1.0) -
                          log_gamma(m) - __builtin_log(scaled_bessel_i1(alpha)) - alpha;
  double const at_mode = __builtin_exp(log_mode);
  double left = draws.precise() - at_mode, up = at_mode, down = at_mode;
  if (left <= 0.0) return mode;
  for (std::int64_t step = 1;; ++step) {
    std::int64_t const above = mode + step, below = mode - step;
    auto const x = static_cast<double>(above - 1);
    up *= product / (x * (x + 1.0));
    if ((left -= up) <= 0.0) return above;
    if (below >= 1) {
      auto const y = static_cast<double>(below);
      down *= y * (y + 1.0) / product;
      if ((left -= down) <= 0.0) return below;
    }
    // the remainder due to rounding goes to the mode
    if (up < 1e-18 && (below < 1 || down < 1e-18)) return mode;
  }
}

}  // namespace sgmc::SGMC_ISA
