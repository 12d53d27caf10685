// Whole rows of phi, from which documents sampled over their own topics may draw: the rows' sums,
// checked at every visit, and counts of such draws, spread over a row at the end.
#include <cstdint>

#include "sgmc/counts.hpp"
#include "sgmc/kernels.hpp"
#include "sgmc/lanes.hpp"
#include "sgmc/simd.hpp"

namespace sgmc::SGMC_ISA {

void row_mass(float const* phi, float const* share, std::int64_t stride, std::int64_t begin,
              std::int64_t end, float* mass, float* running) noexcept {
  std::int64_t const blocks = stride / 16;
  for (std::int64_t r = begin; r < end; ++r) {
    F16 sum = f16(0.0f), least = f16(0.0f);
    float* to = running ? running + 16 * r * segments_of(stride) : nullptr;
    for (std::int64_t b = 0; b < blocks; ++b) {
      F16 const x = load(phi + r * stride + 16 * b);
      sum = sum + (share ? x * load(share + 16 * b) : x);
      least = min(least, x);
      if (!to || ((b + 1) % kSegment != 0 && b + 1 != blocks)) continue;
      store(to, sum);
      to += 16;
    }
    bool const negative = lanes(least < f16(0.0f)) != 0;
    mass[r] = negative ? __builtin_nanf("") : lane(prefix(sum), 15);
  }
}

void spread_bucket(float const* phi, float const* share, std::int64_t stride, float mass,
                   std::int64_t bucket, std::int64_t* counts) noexcept {
  double const part = static_cast<double>(bucket) / static_cast<double>(mass);
  for (std::int64_t k = 0; k < stride; ++k) {
    std::int64_t const more = fixed_point(share ? phi[k] * share[k] : phi[k], part);
    counts[k] = static_cast<std::int64_t>(static_cast<std::uint64_t>(counts[k]) +
                                          static_cast<std::uint64_t>(more));  // never undefined
  }
}

}  // namespace sgmc::SGMC_ISA
