// The Cox-Ingersoll-Ross transition of log g in double: for eta < 0.01, at which most cells are
// zero in float32, and for Dirichlet posteriors whose sparse tail matters.
#include <cstdint>

#include "sgmc/distributions_double.hpp"
#include "sgmc/kernels.hpp"

namespace sgmc::SGMC_ISA {

void simplex_scir_log(double* log_g, double const* shape, LogRowsTask const& task) noexcept {
  Stream const stream = Stream::at(task.address, Purpose::scir_log);
  std::int64_t const columns = task.columns;
  for (std::int64_t w = task.begin; w < task.end; ++w)
    for (std::int64_t k = 0; k < columns; ++k) {
      std::int64_t const i = w * columns + k;
      CellWords words{stream, static_cast<std::uint64_t>(w), static_cast<std::uint32_t>(k),
                      static_cast<std::uint32_t>(columns)};
      double const count = poisson_variate(__builtin_exp(log_g[i] + task.log_rate[k]), words);
      log_g[i] = task.log_take[k] + log_gamma_variate(shape[i] + count, words);
    }
}

}  // namespace sgmc::SGMC_ISA
