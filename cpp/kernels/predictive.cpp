// Probability of held-out tokens under topics and document proportions.
#include <cstdint>

#include "sgmc/kernels.hpp"

namespace sgmc::SGMC_ISA {

void predictive(PredictiveTask const& task, std::int64_t begin, std::int64_t end,
                double* theta) noexcept {
  std::int64_t const stride = task.stride;
  for (std::int64_t d = begin; d < end; ++d) {
    if (task.theta) {
      for (std::int64_t k = 0; k < stride; ++k) theta[k] = task.theta[d * stride + k];
    } else {
      double const total = task.total + static_cast<double>(task.tokens[d]);
      for (std::int64_t k = 0; k < stride; ++k)
        theta[k] =
            (task.alpha[k] + static_cast<double>(task.doc_counts[d * stride + k]) * task.factor) /
            total;
    }
    for (std::int64_t i = task.indptr[d]; i < task.indptr[d + 1]; ++i) {
      float const* const phi = task.phi + task.indices[i] * stride;
      double sum[8] = {};  // lanes in a fixed order; pads of phi are 0
      for (std::int64_t k = 0; k < stride; k += 8)
        for (int l = 0; l < 8; ++l) sum[l] += theta[k + l] * static_cast<double>(phi[k + l]);
      task.p[i] = ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
    }
  }
}

}  // namespace sgmc::SGMC_ISA
