// Allocation of documents to components of a mixture, each within its slice of the weights.
#include <cstdint>

#include "sgmc/choose.hpp"
#include "sgmc/distributions.hpp"
#include "sgmc/kernels.hpp"
#include "sgmc/lanes.hpp"

namespace sgmc::SGMC_ISA {

void documents_mixture(MixtureTask const& task, std::int64_t begin, std::int64_t end,
                       float* scores) noexcept {
  constexpr float kOut = -3e38f;
  std::int64_t const stride = task.stride;
  Stream const stream = Stream::at(task.address, task.purpose);
  for (std::int64_t d = begin; d < end; ++d) {
    F16 const slice = f16(task.slice[d]);
    F16 best = f16(kOut);
    for (std::int64_t k = 0; k < stride; k += 16) {
      F16 score = f16(0.0f);
      for (std::int64_t i = task.indptr[d]; i < task.indptr[d + 1]; ++i)
        score = score + f16(static_cast<float>(task.counts[i])) *
                            load(task.log_phi + task.indices[i] * stride + k);
      M16 const real = real_lanes(task.components, k);
      score = select(real & (slice <= load(task.log_weight + k)), score, f16(kOut));
      store(scores + k, score);
      best = max(best, score);
    }
    F16 const top = f16(greatest(best));
    // exp of a difference; for a component outside the slice, exp(-huge) = 0
    F16 running = f16(0.0f);
    for (std::int64_t k = 0; k < stride; k += 16) {
      running = running + exp(load(scores + k) - top);
      store(scores + k, running);
    }
    Words const w = random_words(stream, 0u, task.entity[d]);
    F16 const cumulative = prefix(running);
    F16 const target = f16(lane(uniform24(w.x[0]), 0)) * splat(cumulative, 15);
    LaneChoice const at = choose_lane(cumulative - running, cumulative, target);
    task.z[d] = choose_block<0>(at, static_cast<int>(stride / 16), scores, task.components - 1);
  }
}

}  // namespace sgmc::SGMC_ISA
