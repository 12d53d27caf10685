// Riemannian Langevin step on unnormalised topics (expanded mean), reflected at zero.
#include <cstdint>

#include "sgmc/distributions.hpp"
#include "sgmc/kernels.hpp"

namespace sgmc::SGMC_ISA {

void simplex_sgrld(float* g, float const* ratio, RowsTask const& task,
                   RowsScratch const&) noexcept {
  Stream const stream =
      Stream::make(task.address.seed, task.address.chain,
                   stream_purpose(Purpose::sgrld_noise, task.address.stream), task.address.step);
  std::int64_t const stride = task.stride;
  float const h = static_cast<float>(task.h);
  F16 const step = f16(h), variance = f16(2.0f * h), eta = f16(task.eta), one = f16(1.0f);
  for (std::int64_t k = 0; k < stride; ++k) task.sums[k] = 0.0;
  std::int64_t touched = 0;
  for (std::int64_t w = task.begin; w < task.end; ++w) {
    float* const row = g + w * stride;
    bool const seen = touched < task.n_touched && task.touched[touched] == w;
    std::int64_t const* const counts = task.counts + touched * stride;
    touched += seen;
    // 64 topics take 16 Philox blocks: two pairs of normal vectors
    for (std::int64_t k64 = 0; k64 < stride; k64 += 64) {
      Words const x =
          random_words(stream, static_cast<std::uint32_t>(k64 / 4), static_cast<std::uint64_t>(w));
      F16 z[4];
      normal_pair(x.x[0], x.x[1], z[0], z[1]);
      normal_pair(x.x[2], x.x[3], z[2], z[3]);
      for (int q = 0; q < 4; ++q) {
        std::int64_t const k = k64 + 16 * q;
        if (k >= stride) break;
        F16 drift = eta;
        if (seen) {
          alignas(64) float n[16];
          for (int l = 0; l < 16; ++l)
            n[l] = static_cast<float>(static_cast<double>(counts[k + l]) * task.factor);
          drift = drift + load(n);
        }
        F16 const old = load(row + k);
        // eta + N - g - phi N_k, the last two as g (1 + N_k / s_k): all from the old state
        drift = drift - old * (one + load(ratio + k));
        F16 const moved = abs(old + step * drift + sqrt(variance * old) * z[q]);
        store(row + k, moved);
      }
    }
    for (std::int64_t k = task.topics; k < stride; ++k) row[k] = 0.0f;
    for (std::int64_t k = 0; k < stride; ++k) task.sums[k] += static_cast<double>(row[k]);
  }
}

}  // namespace sgmc::SGMC_ISA
