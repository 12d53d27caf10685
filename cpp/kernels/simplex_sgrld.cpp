// Riemannian Langevin step on unnormalised topics (expanded mean), reflected at zero.
#include <cstdint>

#include "sgmc/distributions.hpp"
#include "sgmc/kernels.hpp"
#include "sgmc/noise.hpp"
#include "sgmc/rows.hpp"

namespace sgmc::SGMC_ISA {
namespace {

/// Steps one row; N = 0 if it was not seen.
template <bool Seen>
SGMC_INLINE void step_row(Row<float> const& row, float const* ratio, Noise& noise,
                          RowsTask const& task) {
  float const h = static_cast<float>(task.h);
  F16 const step = f16(h), variance = f16(2.0f * h), eta = f16(task.eta), one = f16(1.0f);
  for (std::int64_t k = 0; k < task.stride; k += 16) {
    F16 squared;
    F16 const direction = noise.next(squared);
    F16 shape = eta;
    if constexpr (Seen) shape = shape + load_scaled(row.counts + k, task.factor);
    F16 const old = load(row.g + k);
    // eta + N - g - phi N_k, the last two as g (1 + N_k / s_k): all from the old state
    F16 const drift = shape - old * (one + load(ratio + k));
    // sqrt(2 h g) z: one square root for both factors
    F16 const moved = old + step * drift + sqrt(variance * old * squared) * direction;
    store(row.g + k, abs(moved));
  }
}

}  // namespace

void simplex_sgrld(float* g, float const* ratio, RowsTask const& task) noexcept {
  Stream const stream = Stream::at(task.address, task.purpose);
  Noise noise(RowWords::make(stream, static_cast<std::uint64_t>(task.begin)));
  Finish finish(task);
  Rows rows(g, task);
  for (Row<float> row; rows.next(row);) {
    if (row.counts)
      step_row<true>(row, ratio, noise, task);
    else
      step_row<false>(row, ratio, noise, task);
    finish.written(row.g);
  }
  finish.flush();
}

}  // namespace sgmc::SGMC_ISA
