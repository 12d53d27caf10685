// Elementary functions and matrix products of doubles, with the same operations in the same order
// on every instruction set. Plain loops, which compilers vectorise.
#include <bit>
#include <cstdint>

#include "sgmc/kernels.hpp"
#include "sgmc/simd.hpp"

namespace sgmc::SGMC_ISA {
namespace {

constexpr double kInfinity = __builtin_inf();
/// ln 2 in two parts; the first times a whole number below 2^20 is exact.
constexpr double kLn2High = 0x1.62e42feep-1, kLn2Low = 0x1.a39ef35793c76p-33;
/// Adding and subtracting this rounds a small number to the nearest whole number.
constexpr double kRounds = 0x1.8p52;
constexpr std::uint64_t kRootHalf = 0x3fe6a09e667f3bcdu;  // of sqrt(1/2)

template <int N>
SGMC_INLINE double horner(double x, double const (&c)[N]) {
  double sum = c[N - 1];
  for (int i = N - 2; i >= 0; --i) sum = sum * x + c[i];
  return sum;
}

/// log x of a normal positive number. x = 2^e m, m in [sqrt(1/2), sqrt(2)), and with f = m - 1 and
/// s = f / (2 + f) log m = 2 atanh s = f - s (f - R), R = 2 s^2 / 3 + 2 s^4 / 5 + ...
SGMC_INLINE double log_normal(double x) {
  std::uint64_t const u = std::bit_cast<std::uint64_t>(x) + (0x3ff0000000000000u - kRootHalf);
  // the biased exponent as the last bits of 2^52 + e, a conversion that every instruction set has
  double const e = std::bit_cast<double>((u >> 52) | 0x4330000000000000u) - (0x1p52 + 1023.0);
  double const f = std::bit_cast<double>((u & 0x000fffffffffffffu) + kRootHalf) - 1.0;
  static constexpr double c[] = {2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,  2.0 / 11,
                                 2.0 / 13, 2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21};
  double const s = f / (2.0 + f), z = s * s;
  return e * kLn2High + (f - (s * (f - z * horner(z, c)) - e * kLn2Low));
}

SGMC_INLINE bool normal(double x) { return (x >= 0x1p-1022) & (x < kInfinity); }

double log_of(double x) {
  if (normal(x)) return log_normal(x);
  if (x > 0.0 && x < kInfinity) return log_normal(x * 0x1p54) - 54.0 * (kLn2High + kLn2Low);
  return x == 0.0 ? -kInfinity : x > 0.0 ? x : __builtin_nan("");
}

/// exp x, |x| <= 708: 2^n exp r, |r| <= ln(2) / 2, by Taylor's series.
SGMC_INLINE double exp_normal(double x) {
  double const shifted = x * 0x1.71547652b82fep0 + kRounds, n = shifted - kRounds;
  double const r = (x - n * kLn2High) - n * kLn2Low;
  static constexpr double c[] = {1.0 / 2,       1.0 / 6,        1.0 / 24,        1.0 / 120,
                                 1.0 / 720,     1.0 / 5040,     1.0 / 40320,     1.0 / 362880,
                                 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800};
  double const p = 1.0 + (r + r * r * horner(r, c));
  std::uint64_t const power = (std::bit_cast<std::uint64_t>(shifted) + 1023u) << 52;
  return p * std::bit_cast<double>(power);
}

SGMC_INLINE bool usual(double x) { return (x >= -708.0) & (x <= 708.0); }

double exp_of(double x) {
  if (usual(x)) return exp_normal(x);
  if (x > 710.0) return kInfinity;
  if (x < -746.0) return 0.0;
  return x > 0.0 ? exp_normal(x - 64.0 * kLn2High) * exp_normal(64.0 * kLn2High)
                 : exp_normal(x + 64.0 * kLn2High) * exp_normal(-64.0 * kLn2High);
}

/// cos(pi x), |x| < 2^50, reduced to a quarter turn.
double cospi_of(double x) {
  double const shifted = 2.0 * x + kRounds, n = shifted - kRounds;
  double const t = (x - 0.5 * n) * 3.141592653589793, z = t * t;
  static constexpr double cosine[] = {1.0,
                                      -1.0 / 2,
                                      1.0 / 24,
                                      -1.0 / 720,
                                      1.0 / 40320,
                                      -1.0 / 3628800,
                                      1.0 / 479001600,
                                      -1.0 / 87178291200,
                                      1.0 / 20922789888000};
  static constexpr double sine[] = {1.0,
                                    -1.0 / 6,
                                    1.0 / 120,
                                    -1.0 / 5040,
                                    1.0 / 362880,
                                    -1.0 / 39916800,
                                    1.0 / 6227020800,
                                    -1.0 / 1307674368000,
                                    1.0 / 355687428096000};
  auto const turn = std::bit_cast<std::uint64_t>(shifted) & 3u;
  double const found = turn & 1u ? t * horner(z, sine) : horner(z, cosine);
  return turn == 1u || turn == 2u ? -found : found;
}

}  // namespace

// Computes all elements as if they were in the usual range, and repeats if one is not.

void log_all(double const* x, std::int64_t n, double* out) noexcept {
  std::int64_t others = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    out[i] = log_normal(x[i]);
    others += normal(x[i]) ? 0 : 1;
  }
  for (std::int64_t i = 0; others && i < n; ++i) out[i] = log_of(x[i]);
}

void log1p_all(double const* x, std::int64_t n, double* out) noexcept {
  std::int64_t others = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    double const u = 1.0 + x[i];
    out[i] = log_normal(u) + (x[i] - (u - 1.0)) / u;
    others += normal(u) ? 0 : 1;
  }
  for (std::int64_t i = 0; others && i < n; ++i)
    if (double const u = 1.0 + x[i]; !normal(u)) out[i] = log_of(u);
}

void exp_all(double const* x, std::int64_t n, double* out) noexcept {
  std::int64_t others = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    out[i] = exp_normal(x[i]);
    others += usual(x[i]) ? 0 : 1;
  }
  for (std::int64_t i = 0; others && i < n; ++i) out[i] = exp_of(x[i]);
}

void cospi_all(double const* x, std::int64_t n, double* out) noexcept {
  for (std::int64_t i = 0; i < n; ++i) out[i] = cospi_of(x[i]);
}

void product(double const* a, double const* b, std::int64_t rows, std::int64_t inner,
             std::int64_t columns, double* out) noexcept {
  for (std::int64_t i = 0; i < rows * columns; ++i) out[i] = 0.0;
  std::int64_t i = 0;
  for (; i + 4 <= rows; i += 4) {  // each row of b is read once for four sums
    double* __restrict const o = out + i * columns;
    for (std::int64_t j = 0; j < inner; ++j) {
      double const *const row = b + j * columns, *const at = a + i * inner + j;
      double const p = at[0], q = at[inner], r = at[2 * inner], s = at[3 * inner];
      for (std::int64_t l = 0; l < columns; ++l) {
        o[l] += p * row[l];
        o[columns + l] += q * row[l];
        o[2 * columns + l] += r * row[l];
        o[3 * columns + l] += s * row[l];
      }
    }
  }
  for (; i < rows; ++i)
    for (std::int64_t j = 0; j < inner; ++j)
      for (std::int64_t l = 0; l < columns; ++l)
        out[i * columns + l] += a[i * inner + j] * b[j * columns + l];
}

}  // namespace sgmc::SGMC_ISA
