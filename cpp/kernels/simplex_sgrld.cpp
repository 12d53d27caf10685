// Riemannian Langevin step on unnormalised topics (expanded mean), reflected at zero.
#include <cstdint>

#include "sgmc/distributions.hpp"
#include "sgmc/kernels.hpp"
#include "sgmc/rows.hpp"

namespace sgmc::SGMC_ISA {
namespace {

/// One row; where it was not seen, N = 0.
template <bool Seen>
SGMC_INLINE void step_row(Row const& row, float const* ratio, RowWords& words,
                          RowsTask const& task) {
  float const h = static_cast<float>(task.h);
  F16 const step = f16(h), variance = f16(2.0f * h), eta = f16(task.eta), one = f16(1.0f);
  for (std::int64_t k = 0; k < task.stride; k += 32) {
    F16 direction[2];
    F16 const radius = squared_radius(words.next());
    unit_circle(words.next(), direction[0], direction[1]);
    for (int half = 0; half < 2; ++half) {
      std::int64_t const at = k + 16 * half;
      if (at == task.stride) break;
      F16 shape = eta;
      if constexpr (Seen) shape = shape + load_scaled(row.counts + at, task.factor);
      F16 const old = load(row.g + at);
      // eta + N - g - phi N_k, the last two as g (1 + N_k / s_k): all from the old state
      F16 const drift = shape - old * (one + load(ratio + at));
      // sqrt(2 h g) z, where z is radius times direction: one square root for both
      F16 const noise = sqrt(variance * old * radius) * direction[half];
      store(row.g + at, abs(old + step * drift + noise));
    }
  }
}

}  // namespace

void simplex_sgrld(float* g, float const* ratio, RowsTask const& task,
                   RowsScratch const&) noexcept {
  Stream const stream =
      Stream::make(task.address.seed, task.address.chain,
                   stream_purpose(Purpose::sgrld_noise, task.address.stream), task.address.step);
  RowWords words = RowWords::make(stream, static_cast<std::uint64_t>(task.begin));
  Finish finish(task);
  Rows rows(g, task);
  for (Row row; rows.next(row);) {
    if (row.counts)
      step_row<true>(row, ratio, words, task);
    else
      step_row<false>(row, ratio, words, task);
    finish.written(row.g);
  }
  finish.flush();
}

}  // namespace sgmc::SGMC_ISA
