// Riemannian Hamiltonian step on unnormalised topics (Ma, Chen and Fox 2015, section 3.2, metric
// diag(1/g)). In q = 2 sqrt(g), with momentum r, it is
//
//   dq = r dt,   dr = (c / q - rho q / 2 - g r) dt + sqrt(2 g) dW,   c = 2 (eta + N) - 1
//
// c has the paper's correction, the divergence of the metric's root. A step is friction and noise
// for h, then the Hamiltonian flow for h (docs/internals/mathematics.md, "SGRHMC"):
//
//   c >= 0: implicit midpoint rule, a quadratic equation;
//   c < 0:  half of -rho q / 2, the flow of c / q for h, half of -rho q / 2. A rule of finite order
//           would heat at the singularity whatever its step, so the flow is the exact one: q falls
//           to 0, is mirrored, and returns.
#include <cstdint>

#include "sgmc/distributions.hpp"
#include "sgmc/kernels.hpp"
#include "sgmc/lanes.hpp"
#include "sgmc/noise.hpp"
#include "sgmc/rows.hpp"

namespace sgmc::SGMC_ISA {
namespace {

/// Attraction below which the midpoint rule is used: c of a shape just below one half.
constexpr float kAttraction = -1e-3f;
/// Periods of the flow per step above which its phase is left unchanged, because float32 cannot
/// represent it.
constexpr float kPeriods = 1e3f;
/// Minimum q that is followed; its square is a normal number.
constexpr float kLeast = 1e-18f;
constexpr float kRootTwoPi = 2.50662827f;

/// P(z > x) exp(x^2 / 2), z ~ N(0, 1). Lanes: float32. Valid range: [0, 3000]. Maximal relative
/// error: 2e-6.
SGMC_INLINE F16 mills(F16 x) {
  static constexpr float c[] = {0.19947137f,  0.19943366f, 0.1508051f,   0.03476034f, 0.03183108f,
                                -0.43012293f, 0.53523952f, -0.27572882f, 0.05431031f};
  F16 const t = f16(1.0f) / (f16(1.0f) + f16(0.5f) * x);
  return t * polynomial(t, c);
}

/// x >= 0 with log P(z > x) = level <= log(1/2): three steps of Newton's method, to 1e-5.
SGMC_INLINE F16 tail_quantile(F16 level) {
  F16 const zero = f16(0.0f), first = f16(0.6267f);
  F16 const z = max(zero, f16(-2.0f) * (level + f16(0.6931472f)));
  F16 x = z * first / (f16(1.0f) + first * sqrt(z));
  for (int i = 0; i < 3; ++i) {
    F16 const m = mills(x);
    x = max(zero, x + (log(m) - f16(0.5f) * x * x - level) * f16(kRootTwoPi) * m);
  }
  return x;
}

/// The flow of H = r^2 / 2 - c log q, c < 0, for h, mirrored at q = 0.
///
/// With x = |r| / sqrt(-c), q exp(x^2 / 2) is constant, the apex of the orbit, and the time to 0 is
/// q mills(x) sqrt(2 pi / -c). `phase` is that time, in units of the root, negative on the way up.
SGMC_INLINE void fall(F16& q, F16& r, F16 c, float h) {
  F16 const zero = f16(0.0f), half = f16(0.5f);
  F16 const speed = sqrt(-c), x = abs(r) / speed;
  F16 const waited = f16(h / kRootTwoPi) * speed;
  F16 const apex = q * exp(min(half * x * x, f16(80.0f)));
  F16 const down = q * mills(x);
  F16 const before = select(r < zero, down, -down), after = before - waited;
  F16 const turns = floor(after / apex + half);
  F16 const phase = select(f16(kPeriods) * apex < waited, before, after - turns * apex);
  F16 const left = min(max(abs(phase), f16(1e-37f)), half * apex);
  F16 const level = min(log(left) - log(q) - half * x * x, f16(-0.6931472f));
  F16 const now = tail_quantile(level);
  q = left / mills(now);
  r = select(zero < phase, -now, now) * speed;
}

/// The Hamiltonian flow for time h with rate rho.
SGMC_INLINE void flow(F16& q, F16& r, F16 c, F16 rho, float h) {
  F16 const zero = f16(0.0f), one = f16(1.0f), half = f16(0.5f), step = f16(h);
  M16 const attracted = c < f16(kAttraction);
  std::uint32_t const which = lanes(attracted);
  F16 q_fall = q, r_fall = r;
  if (which != 0) {
    F16 const kick = half * half * step * rho;
    r_fall = r_fall - kick * q_fall;
    fall(q_fall, r_fall, min(c, f16(kAttraction)), h);
    r_fall = r_fall - kick * q_fall;
  }
  if (which == 0xffffu) {
    q = q_fall;
    r = r_fall;
    return;
  }
  // m = q + h r / 2 + h^2 (c / m - rho m / 2) / 4, on the side of 0 towards which the particle
  // moves
  F16 const stiff = one + f16(h * h / 8.0f) * rho, pull = f16(h * h) * c;
  F16 const ahead = q + half * step * r;
  F16 const root = sqrt(max(zero, ahead * ahead + stiff * pull));
  F16 const m = (ahead + select(ahead < zero, -root, root)) * half / stiff;
  F16 const kick = step * (c * m / max(m * m, f16(1e-30f)) - half * rho * m);
  F16 const moved = q + step * (r + half * kick), fast = r + kick;
  M16 const mirrored = moved < zero;
  q = select(attracted, q_fall, abs(moved));
  r = select(attracted, r_fall, select(mirrored, -fast, fast));
}

}  // namespace

void simplex_sgrhmc(float* g, float const* rate, RowsTask const& task) noexcept {
  Stream const stream = Stream::at(task.address, task.purpose);
  Noise noise(RowWords::make(stream, static_cast<std::uint64_t>(task.begin)));
  float const h = static_cast<float>(task.h);
  F16 const step = f16(h), two = f16(2.0f), one = f16(1.0f), eta = f16(task.eta);
  Finish finish(task);
  Rows rows(g, task);
  for (Row<float> row; rows.next(row);) {
    float* const momenta = task.momenta + row.word * task.stride;
    for (std::int64_t k = 0; k < task.stride; k += 16) {
      F16 squared;
      F16 const direction = noise.next(squared);
      F16 const shape = row.counts ? eta + load_scaled(row.counts + k, task.factor) : eta;
      F16 const old = load(row.g + k), friction = step * old;
      F16 r =
          exp(-friction) * load(momenta + k) + sqrt(expm1m(two * friction) * squared) * direction;
      F16 q = max(two * sqrt(old), f16(kLeast));
      flow(q, r, two * shape - one, load(rate + k), h);
      store(row.g + k, f16(0.25f) * q * q);
      store(momenta + k, select(real_lanes(task.topics, k), r, f16(0.0f)));
    }
    finish.written(row.g);
  }
  finish.flush();
}

}  // namespace sgmc::SGMC_ISA
