// Sufficient statistics of documents for their Dirichlet prior, given their tokens' topics.
#include <cstdint>

#include "sgmc/draws.hpp"
#include "sgmc/kernels.hpp"

namespace sgmc::SGMC_ISA {

void alpha_evidence(AlphaTask const& task, std::int64_t begin, std::int64_t end, std::int32_t* n,
                    std::int64_t* found) noexcept {
  Stream const stream = Stream::at(task.address, task.purpose);
  for (std::int64_t d = begin; d < end; ++d) {
    std::int64_t const from = task.token_ptr[d], to = task.token_ptr[d + 1];
    task.q[d] = 0.0;
    if (from == to) continue;
    for (std::int32_t k = 0; k < task.topics; ++k) n[k] = 0;
    for (std::int64_t t = from; t < to; ++t) ++n[task.z[t]];
    Draws draws(stream, task.entity[d]);
    // Beta(total, tokens) = a / (a + b) of two gammas, the total's in lane 0 and the tokens' in
    // lane 1
    alignas(64) float shape[16], logs[16];
    for (float& x : shape) x = 1.0f;
    shape[0] = static_cast<float>(task.total);
    shape[1] = static_cast<float>(to - from);
    store(logs, log_gamma_draws(load(shape), 3u, draws));
    double const ahead = static_cast<double>(logs[1]) - static_cast<double>(logs[0]);
    task.q[d] =
        (ahead > 0.0 ? ahead : 0.0) + __builtin_log1p(__builtin_exp(ahead > 0.0 ? -ahead : ahead));
    for (std::int32_t k = 0; k < task.topics; ++k)
      if (n[k] > 0) found[k] += tables(n[k], task.alpha[k], draws);
  }
}

}  // namespace sgmc::SGMC_ISA
