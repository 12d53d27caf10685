// Dirichlet parameters of topics, which variational Bayes stores in place of draws: their start,
// and what documents read of them. They are updated by simplex_relax.
#include <cstdint>

#include "sgmc/digamma.hpp"
#include "sgmc/distributions.hpp"
#include "sgmc/kernels.hpp"
#include "sgmc/lanes.hpp"
#include "sgmc/rows.hpp"

namespace sgmc::SGMC_ISA {

void dirichlet_start(float* g, float shape, RowsTask const& task) noexcept {
  start_rows(g, task, [&](Stream const& stream, std::uint64_t word, std::int64_t k) {
    alignas(64) float drawn[16];
    store(drawn, f16(__builtin_nanf("")));
    std::uint32_t todo = 0xffffu;
    for (std::int64_t attempt = 0; todo && attempt < kAttempts; ++attempt) {
      Words const w =
          random_words(stream, static_cast<std::uint32_t>(k + attempt * task.stride), word);
      F16 z, other;
      M16 ok;
      normal_pair(w.x[0], w.x[1], z, other);
      F16 const x = gamma_attempt(f16(shape), z, uniform_open(w.x[2]), ok);
      std::uint32_t const now = todo & lanes(ok);
      for (int l = 0; l < 16; ++l)
        if ((now >> l) & 1u) drawn[l] = lane(x, l);
      todo &= ~now;
    }
    return load(drawn) / f16(shape);
  });
}

void dirichlet_weights(float const* g, std::int32_t const* rows, std::int64_t begin,
                       std::int64_t end, float* out, PhiTask const& task) noexcept {
  std::int64_t const stride = task.stride;
  for (std::int64_t i = begin; i < end; ++i) {
    float const* const row = g + (rows ? rows[i] : i) * stride;
    float* const to = out + i * stride;
    F16 lowest = f16(3e38f);
    for (std::int64_t k = 0; k < stride; k += 16) {
      M16 const real = real_lanes(task.topics, k);
      F16 const drop = exp_digamma(select(real, load(row + k), f16(1.0f))).drop;
      store(to + k, drop);
      lowest = min(lowest, select(real, drop, f16(3e38f)));
    }
    F16 const smallest = f16(least(lowest));
    for (std::int64_t k = 0; k < stride; k += 16) {
      F16 const top = (load(row + k) + f16(6.0f)) * load(task.inverse_sums + k);
      store(to + k, max(top * exp(smallest - load(to + k)), f16(kPhiFloor)));
    }
    for (std::int64_t k = task.topics; k < stride; ++k) to[k] = 0.0f;
  }
}

}  // namespace sgmc::SGMC_ISA
