// Mirrored Langevin step (Hsieh et al. 2018, algorithm 1, section 5.2) on dual coordinates y_v =
// log(phi_v / phi_ref); the reference is the last word, with y = 0:
//
//   y_v <- y_v + h (eta + N_v - (V eta + N.) phi_v) + sqrt(2h) z_v,  phi_v = exp(y_v) / sum exp(y)
//
// The approximate form reads max(1e-8, 1 + y) for exp(y) everywhere (section 5.2.2).
#include <cstdint>

#include "sgmc/distributions.hpp"
#include "sgmc/kernels.hpp"
#include "sgmc/lanes.hpp"
#include "sgmc/noise.hpp"
#include "sgmc/rows.hpp"

namespace sgmc::SGMC_ISA {
namespace {

/// The substitute for exp(y), up to the columns' scale: exp(y - shift), or its approximation.
template <bool Approximate>
SGMC_INLINE F16 weight(F16 y, F16 shift) {
  if constexpr (Approximate) return max(f16(1.0f) + y, f16(1e-8f));
  return exp(y - shift);
}

template <bool Approximate>
void step(float* y, RowsTask const& task, ColumnsTask const& columns, std::int64_t reference) {
  Stream const stream = Stream::at(task.address, task.purpose);
  Noise noise(RowWords::make(stream, static_cast<std::uint64_t>(task.begin)));
  F16 const h = f16(static_cast<float>(task.h)), eta = f16(task.eta), zero = f16(0.0f);
  F16 const variance = f16(static_cast<float>(2.0 * task.h));
  for (std::int64_t k = 0; k < task.stride; ++k) task.sums[k] = 0.0;
  Rows rows(y, task);
  for (Row<float> row; rows.next(row);)
    for (std::int64_t k = 0; k < task.stride; k += 16) {
      F16 squared;
      F16 const direction = noise.next(squared), shift = load(columns.step + k);
      F16 const old = load(row.g + k);
      F16 const phi = weight<Approximate>(old, shift) * load(columns.scale + k);
      F16 const shape = row.counts ? eta + load_scaled(row.counts + k, task.factor) : eta;
      F16 const drift = shape - load(columns.total + k) * phi;
      M16 const real = real_lanes(task.topics, k);
      F16 moved = old + (h * drift + sqrt(variance * squared) * direction);
      moved = row.word == reference ? zero : select(real, moved, zero);
      store(row.g + k, moved);
      F16 const fresh = select(real, weight<Approximate>(moved, shift), zero);
      store(task.sums + k, load(task.sums + k) + to_double(fresh));
    }
}

}  // namespace

void simplex_smld(float* y, RowsTask const& task, ColumnsTask const& columns,
                  std::int64_t reference, bool approximate) noexcept {
  if (approximate)
    step<true>(y, task, columns, reference);
  else
    step<false>(y, task, columns, reference);
}

void simplex_smld_phi(float const* y, std::int32_t const* rows, std::int64_t begin,
                      std::int64_t end, float* out, std::int64_t stride, std::int32_t topics,
                      ColumnsTask const& columns, bool approximate) noexcept {
  for (std::int64_t i = begin; i < end; ++i) {
    float const* const row = y + (rows ? rows[i] : i) * stride;
    for (std::int64_t k = 0; k < stride; k += 16) {
      F16 const shift = load(columns.step + k), old = load(row + k);
      F16 const v = approximate ? weight<true>(old, shift) : weight<false>(old, shift);
      F16 const phi = max(v * load(columns.scale + k), f16(kPhiFloor));
      store(out + i * stride + k, select(real_lanes(topics, k), phi, f16(0.0f)));
    }
  }
}

}  // namespace sgmc::SGMC_ISA
