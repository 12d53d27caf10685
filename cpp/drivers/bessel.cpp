// Modified Bessel functions of large order, as needed for the von Mises-Fisher distribution.
#include <cmath>
#include <limits>

#include "sgmc/drivers.hpp"

namespace sgmc {
namespace {

/// ln I_nu(x) - nu ln(x / nu), nu >= 16, by the uniform expansion (Olver; DLMF 10.41.3), in which
/// no terms of the size of nu cancel.
double log_bessel_rest(double nu, double x) {
  double const z = x / nu, s = std::sqrt(1.0 + z * z), p = 1.0 / s, q = p * p;
  double const u1 = p * (3.0 - 5.0 * q) / 24.0;
  double const u2 = q * (81.0 + q * (-462.0 + q * 385.0)) / 1152.0;
  double const u3 = p * q * (30375.0 + q * (-369603.0 + q * (765765.0 - q * 425425.0))) / 414720.0;
  double const u4 =
      q * q *
      (4465125.0 + q * (-94121676.0 + q * (349922430.0 + q * (-446185740.0 + q * 185910725.0)))) /
      39813120.0;
  double const sum = (u1 + (u2 + (u3 + u4 / nu) / nu) / nu) / nu;
  constexpr double two_pi = 6.283185307179586;
  return nu * (s - std::log1p(s)) - 0.5 * std::log(two_pi * nu) - 0.5 * std::log(s) +
         std::log1p(sum);
}

}  // namespace

double bessel_ratio(double d, double kappa) {
  if (kappa < 1e-8) return kappa / d;
  // 1/A = b_0 + 1/(b_1 + 1/(b_2 + ...)), b_n = (d + 2n) / kappa, by Lentz's method: all terms are
  // positive, so that nothing vanishes
  double f = d / kappa, c = f, e = 0.0;
  for (int n = 1; n < 10'000'000; ++n) {
    double const b = (d + 2.0 * n) / kappa;
    e = 1.0 / (b + e);
    c = b + 1.0 / c;
    double const change = c * e;
    f *= change;
    if (std::fabs(change - 1.0) < std::numeric_limits<double>::epsilon()) break;
  }
  return 1.0 / f;
}

double log_normaliser(double d, double kappa) {
  constexpr double log_two_pi = 1.8378770664093453;
  double const nu = 0.5 * d - 1.0;
  if (kappa > 1e4 && kappa > 40.0 * nu * nu) {
    // ln I_nu = kappa - ln(2 pi kappa)/2 + ln(1 - (m-1)/(8k) (1 - (m-9)/(16k) (1 - (m-25)/(24k)
    // ...))), m = 4 nu^2 (DLMF 10.40.1): ten terms; the last is below 1e-17
    double const m = 4.0 * nu * nu;
    double term = 1.0, sum = 0.0;
    for (int j = 1; j <= 10; ++j) {
      double const odd = 2.0 * j - 1.0;
      term *= -(m - odd * odd) / (8.0 * j * kappa);
      sum += term;
    }
    return nu * std::log(kappa) - 0.5 * d * log_two_pi - kappa +
           0.5 * (log_two_pi + std::log(kappa)) - std::log1p(sum);
  }
  if (kappa < 1e-8 * d) {  // 1 / (area of the sphere), to double precision
    return std::lgamma(0.5 * d) - std::log(2.0) - 0.5 * d * std::log(3.141592653589793);
  }
  // orders below 20 are computed from 32 orders above, by I_nu / I_(nu+1) = 1 / A_(2 nu + 2)
  int const shift = nu < 20.0 ? 32 : 0;
  double const order = nu + shift;
  double less = 0.0;
  for (int j = 0; j < shift; ++j) less += std::log(bessel_ratio(2.0 * (nu + j + 1.0), kappa));
  // (d/2 - 1) ln kappa - ln I_nu, with ln I = order ln(kappa / order) + rest - less
  double const log_i = log_bessel_rest(order, kappa) - less;
  return order * std::log(order) - static_cast<double>(shift) * std::log(kappa) -
         0.5 * d * log_two_pi - log_i;
}

}  // namespace sgmc
