// Topic-layer-adaptive stochastic gradient Riemannian step on the simplex (Cong et al. 2017, eq.
// 13 to 15 and 18), by rows:
//
//   x_v   = phi_v + e_k (eta + N_v - A phi_v) + sqrt(2 e_k phi_v) z_v,  e_k = eps_t / M_k
//   u_v   = x_v - (S - 1) phi_v,  S = sum_v x_v
//   phi_v = |u_v| / sum_w |u_w|, or with max(u, 0) for |u|
//
// The second line projects along the old phi: it alone gives u the covariance 2 e_k (diag(phi) -
// phi phi^T). S and the last sum are sums of whole columns, hence two passes; the reader divides:
// phi = g / sums. The third line is the edge: a move that would leave the simplex is reflected or
// clipped.
#include <cstdint>

#include "sgmc/distributions.hpp"
#include "sgmc/kernels.hpp"
#include "sgmc/noise.hpp"
#include "sgmc/rows.hpp"

namespace sgmc::SGMC_ISA {

void simplex_tlasgr(float const* g, float* x, RowsTask const& task,
                    ColumnsTask const& columns) noexcept {
  Stream const stream = Stream::at(task.address, task.purpose);
  Noise noise(RowWords::make(stream, static_cast<std::uint64_t>(task.begin)));
  F16 const two = f16(2.0f), eta = f16(task.eta);
  Finish finish(task);
  Rows rows(g, task);
  for (Row<float const> row; rows.next(row);) {
    float* const to = x + row.word * task.stride;
    for (std::int64_t k = 0; k < task.stride; k += 16) {
      F16 squared;
      F16 const direction = noise.next(squared);
      F16 const phi = load(row.g + k) * load(columns.scale + k), step = load(columns.step + k);
      F16 const shape = row.counts ? eta + load_scaled(row.counts + k, task.factor) : eta;
      F16 const drift = shape - load(columns.total + k) * phi;
      store(to + k, phi + step * drift + sqrt(two * step * phi * squared) * direction);
    }
    finish.written(to);
  }
  finish.flush();
}

void simplex_project(float* g, float const* x, RowsTask const& task, ColumnsTask const& columns,
                     bool clip) noexcept {
  Finish finish(task);
  Rows rows(g, task);
  for (Row<float> row; rows.next(row);) {
    float const* const from = x + row.word * task.stride;
    for (std::int64_t k = 0; k < task.stride; k += 16) {
      F16 const phi = load(row.g + k) * load(columns.scale + k);
      F16 const u = load(from + k) - load(columns.step + k) * phi;
      // in this order, max keeps a NaN
      store(row.g + k, clip ? max(f16(0.0f), u) : abs(u));
    }
    finish.written(row.g);
  }
  finish.flush();
}

}  // namespace sgmc::SGMC_ISA
