// Random numbers in sequence, for one document or topic: sixteen lanes of a generator seeded from
// its address, used as vectors or singly. The numbers depend only on the order of calls.
#pragma once

#include "sgmc/distributions.hpp"
#include "sgmc/lanes.hpp"
#include "sgmc/limits.hpp"
#include "sgmc/philox.hpp"

namespace sgmc::SGMC_ISA {

class Draws {
 public:
  SGMC_INLINE Draws(Stream const& stream, std::uint64_t entity)
      : words_(RowWords::make(stream, entity)) {}

  /// Sixteen uniforms in (0, 1].
  SGMC_INLINE F16 open() { return uniform_open(words_.next()); }

  /// One normal in each lane.
  SGMC_INLINE F16 normal() {
    F16 z, other;
    U16 const radius = words_.next();
    normal_pair(radius, words_.next(), z, other);
    return z;
  }

  /// One uniform in [0, 1 - 2^-24].
  SGMC_INLINE float uniform() {
    if (at_ == 16) {
      store(some_, uniform24(words_.next()));
      at_ = 0;
    }
    return some_[at_++];
  }

  /// One uniform in (0, 1), 53 bits.
  double precise() {
    if (precise_at_ == 16) {
      store(bits_, words_.next());
      precise_at_ = 0;
    }
    std::uint64_t const hi = bits_[precise_at_], lo = bits_[precise_at_ + 1];
    precise_at_ += 2;
    return (static_cast<double>(((hi << 32) | lo) >> 11) + 0.5) * 0x1p-53;
  }

 private:
  RowWords words_;
  alignas(64) float some_[16];
  alignas(64) std::uint32_t bits_[16];
  int at_ = 16, precise_at_ = 16;
};

/// Log of Gamma(shape, 1) in every lane, for any shape > 0; lanes in `wanted` are valid, and NaN if
/// the shape is NaN.
SGMC_INLINE F16 log_gamma_draws(F16 shape, std::uint32_t wanted, Draws& draws) {
  // for shapes below 1: Gamma(a) = Gamma(a + 1) U^(1/a)
  M16 const small = shape < f16(1.0f);
  F16 const raised = select(small, shape + f16(1.0f), shape);
  F16 result = f16(0.0f);
  std::uint32_t todo = wanted;
  for (std::uint32_t attempt = 0; todo && attempt < kAttempts; ++attempt) {
    M16 ok;
    F16 const z = draws.normal();
    F16 const x = gamma_attempt(raised, z, draws.open(), ok);
    std::uint32_t const now = todo & lanes(ok);
    alignas(64) float fresh[16], kept[16];
    store(fresh, log(max(x, f16(1.2e-38f))));
    store(kept, result);
    for (std::uint32_t m = now; m; m &= m - 1) {
      int const l = __builtin_ctz(m);
      kept[l] = fresh[l];
    }
    result = load(kept);
    todo &= ~now;
  }
  if (todo) result = f16(__builtin_nanf(""));
  return select(small, result + log(draws.open()) / shape, result);
}

/// log Gamma(x), x > 0, by Stirling's series from 10 on. The C library's function sets a global
/// variable.
inline double log_gamma(double x) {
  double product = 1.0;
  for (; x < 10.0; x += 1.0) product *= x;
  double const r = 1.0 / x, r2 = r * r;
  double const series =
      r * (1.0 / 12.0 - r2 * (1.0 / 360.0 - r2 * (1.0 / 1260.0 - r2 * (1.0 / 1680.0))));
  return (x - 0.5) * __builtin_log(x) - x + 0.9189385332046728 + series - __builtin_log(product);
}

/// Number of tables of n customers: the sum over i = 1 .. n of Bernoulli(shape / (shape + i - 1)),
/// a CRT(n, shape) variate (Zhou and Carin 2015). It is at least one if there are customers; the
/// time is bounded by the number of customers.
inline std::int64_t tables(std::int64_t n, double shape, Draws& draws) {
  constexpr std::int64_t kPlain = 512;
  if (n <= 1) return n;
  std::int64_t count = 1;
  std::int64_t const plain = n < kPlain ? n : kPlain;
  F16 const s = f16(static_cast<float>(shape));
  for (std::int64_t i = 1; i < plain; i += 16) {
    std::int64_t const left = plain - i;
    F16 const before = to_float(iota()) + f16(static_cast<float>(i));
    count += popcount(lanes(draws.open() * (s + before) <= s) & first_lanes(left));
  }
  // Beyond this, go from table to table: after customer i, the next one to open a table is above j
  // with probability Gamma(j) Gamma(i + s) / (Gamma(j + s) Gamma(i)), inverted by bisection.
  for (std::int64_t i = plain; i < n;) {
    double const from = static_cast<double>(i);
    double const start = log_gamma(from + shape) - log_gamma(from);
    double const target = __builtin_log(draws.precise());
    auto const none_until = [&](std::int64_t j) {
      double const x = static_cast<double>(j);
      return start + log_gamma(x) - log_gamma(x + shape);
    };
    if (target <= none_until(n)) break;
    std::int64_t low = i, high = n;  // no new table up to low, one up to high
    while (high - low > 1) {
      std::int64_t const middle = low + (high - low) / 2;
      if (target <= none_until(middle))
        low = middle;
      else
        high = middle;
    }
    ++count;
    i = high;
  }
  return count;
}

}  // namespace sgmc::SGMC_ISA
