// Common parts of all simplex samplers: the start, the noise-free warm-up step, and reading phi.
#include <cstdint>

#include "sgmc/distributions.hpp"
#include "sgmc/kernels.hpp"
#include "sgmc/lanes.hpp"
#include "sgmc/rows.hpp"

namespace sgmc::SGMC_ISA {

void simplex_relax(float* g, RowsTask const& task) noexcept {
  F16 const eta = f16(task.eta);
  Finish finish(task);
  Rows rows(g, task);
  for (Row<float> row; rows.next(row);) {
    finish.expect(row);
    F16 const keep = f16(static_cast<float>(row.keep)), take = f16(static_cast<float>(row.take));
    F16 const arriving = eta * take;
    for (std::int64_t k = 0; k < task.stride; k += 16) {
      F16 const add =
          row.counts ? (eta + load_scaled(row.counts + k, task.factor)) * take : arriving;
      store(row.g + k, load(row.g + k) * keep + add);
    }
    finish.written(row.g);
  }
  finish.flush();
}

void simplex_start(float* g, float scale, RowsTask const& task) noexcept {
  start_rows(g, task, [&](Stream const& stream, std::uint64_t word, std::int64_t k) {
    Words const x = random_words(stream, static_cast<std::uint32_t>(k), word);
    return f16(-scale) * log(uniform_open(x.x[0]));  // Gamma(1) by inversion
  });
}

void simplex_phi(float const* g, std::int32_t const* rows, std::int64_t begin, std::int64_t end,
                 float* out, PhiTask const& task) noexcept {
  std::int64_t const stride = task.stride;
  for (std::int64_t i = begin; i < end; ++i) {
    float const* const row = g + (rows ? rows[i] : i) * stride;
    float const* const ahead = rows && i + 1 < end ? g + rows[i + 1] * stride : row;
    float* const to = out + i * stride;
    for (std::int64_t k = 0; k < stride; k += 16) {
      __builtin_prefetch(ahead + k);  // in a list, the next row may be anywhere
      store(to + k, max(load(row + k) * load(task.inverse_sums + k), f16(kPhiFloor)));
    }
    for (std::int64_t k = task.topics; k < stride; ++k) to[k] = 0.0f;
  }
}

void simplex_add_phi(float const* g, double const* lengths, float eta, std::int64_t begin,
                     std::int64_t end, double* total, PhiTask const& task) noexcept {
  std::int64_t const stride = task.stride;
  for (std::int64_t w = begin; w < end; ++w) {
    double const h = lengths ? lengths[w] : 0.0;
    F16 const keep = f16(static_cast<float>(__builtin_exp(-h)));
    F16 const arriving = f16(eta) * f16(static_cast<float>(-__builtin_expm1(-h)));
    for (std::int64_t k = 0; k < stride; k += 16) {
      F16 const now = load(g + w * stride + k) * keep + arriving;
      F16 const phi = max(now * load(task.inverse_sums + k), f16(kPhiFloor));
      M16 const real = real_lanes(task.topics, k);
      double* const to = total + w * stride + k;
      store(to, load(to) + to_double(select(real, phi, f16(0.0f))));
    }
  }
}

}  // namespace sgmc::SGMC_ISA
