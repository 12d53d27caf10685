// Great circles: cosine and sine of an arc, given its square. In double, by Taylor series, with the
// same bits on every instruction set, and for a document regardless of its neighbours.
#pragma once

#include "sgmc/simd.hpp"

namespace sgmc::SGMC_ISA {

/// cos a and sin(a)/a for the arc a = sqrt(z). Both are power series in z, so that no arc is too
/// small.
template <class T>
struct Arc {
  T cosine, sine;
};

/// 1/n!, n = 0 .. 21, with the signs of the series in z: even n for cos, odd n for sin.
inline constexpr int kArcTerms = 11;
struct ArcSeries {
  double cosine[kArcTerms] = {}, sine[kArcTerms] = {};
  constexpr ArcSeries() {
    double factorial = 1.0, sign = 1.0;
    for (int k = 0; k < kArcTerms; ++k, sign = -sign) {
      cosine[k] = sign / factorial;
      factorial *= 2 * k + 1;
      sine[k] = sign / factorial;
      factorial *= 2 * k + 2;
    }
  }
};
inline constexpr ArcSeries kArc;

SGMC_INLINE double all_of(double x, double const&) { return x; }
SGMC_INLINE D16 all_of(double x, D16 const&) { return d16(x); }

/// Valid range: 0 <= z <= 1. Error below 1e-16.
template <class T>
SGMC_INLINE Arc<T> short_arc(T z) {
  Arc<T> arc{all_of(kArc.cosine[kArcTerms - 1], z), all_of(kArc.sine[kArcTerms - 1], z)};
  for (int k = kArcTerms - 2; k >= 0; --k) {
    arc.cosine = arc.cosine * z + all_of(kArc.cosine[k], z);
    arc.sine = arc.sine * z + all_of(kArc.sine[k], z);
  }
  return arc;
}

/// Valid range: 0 <= z <= 1e18, NaN elsewhere. Error of the sine and the cosine 1e-16 sqrt(z).
inline Arc<double> arc_of(double z) {
  if (z <= 1.0) return short_arc(z);
  if (!(z <= 1e18)) return {__builtin_nan(""), __builtin_nan("")};
  double const a = __builtin_sqrt(z);
  auto const quarter = static_cast<std::int64_t>(a * 0.63661977236758134 + 0.5);
  double const n = static_cast<double>(quarter);
  double const r = ((a - n * 0x1.921fb544p0) - n * 0x1.0b4611a6p-34) - n * 0x1.3198a2e037073p-69;
  Arc<double> const in = short_arc(r * r);
  double const s = r * in.sine, c = in.cosine;
  double const sine = quarter & 1 ? c : s, cosine = quarter & 1 ? s : c;
  return {(quarter + 1) & 2 ? -cosine : cosine, (quarter & 2 ? -sine : sine) / a};
}

/// Valid range of each lane as above; a lane's result does not depend on other lanes.
SGMC_INLINE Arc<D16> arc_of(D16 z) {
  alignas(64) double of[16], cosine[16], sine[16];
  store(of, z);
  bool all = true;
  for (double x : of) all = all && x <= 1.0;
  if (all) return short_arc(z);
  for (int i = 0; i < kLanes; ++i) {
    Arc<double> const arc = arc_of(of[i]);
    cosine[i] = arc.cosine;
    sine[i] = arc.sine;
  }
  return {load(cosine), load(sine)};
}

}  // namespace sgmc::SGMC_ISA
