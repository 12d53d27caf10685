#include <algorithm>
#include <cmath>
#include <utility>

#include "sgmc/drivers.hpp"
#include "sgmc/parallel.hpp"

namespace sgmc {

namespace {

/// The part of a task that is one block of rows; its sums go to `partial`.
RowsTask block_of(RowsTask const& task, std::int64_t block, std::int64_t n, double* partial) {
  RowsTask mine = task;
  mine.begin = block * kRowBlock;
  mine.end = std::min(n, mine.begin + kRowBlock);
  auto const word = [&](std::int64_t i) { return task.rows ? task.rows[i] : i; };
  auto const* const first =
      std::lower_bound(task.touched, task.touched + task.n_touched, word(mine.begin));
  auto const* const last =
      std::upper_bound(first, task.touched + task.n_touched, word(mine.end - 1));
  mine.touched = first;
  mine.n_touched = last - first;
  mine.counts = task.counts + (first - task.touched) * task.stride;
  mine.sums = partial + block * task.stride;
  return mine;
}

/// Adds the sums of all blocks, in their order.
void add_blocks(double const* partial, std::int64_t blocks, std::int64_t stride, double* sums) {
  for (std::int64_t block = 0; block < blocks; ++block)
    for (std::int64_t c = 0; c < stride; ++c) sums[c] += partial[block * stride + c];
}

std::vector<float> floats(std::int64_t stride, std::int32_t topics, auto&& of) {
  std::vector<float> values(static_cast<std::size_t>(stride), 0.0f);
  for (std::int64_t c = 0; c < topics; ++c)
    values[static_cast<std::size_t>(c)] = static_cast<float>(of(c));
  return values;
}

}  // namespace

void run_rows(KernelTable const& k, RowKernel kernel, float* g, std::int64_t n, RowsTask task,
              double* sums, float start, Workspace& work, int threads) {
  std::int64_t const stride = task.stride, blocks = (n + kRowBlock - 1) / kRowBlock;
  auto const cells = static_cast<std::size_t>(kRowBlock * stride + kPad);
  threads = std::max(1, threads);
  std::vector<RowsScratch> scratch(static_cast<std::size_t>(threads));
  for (std::size_t t = 0; t < scratch.size(); ++t) {
    auto* at = work.get<float>(t + 1, (4 * RowsScratch::kQueues + 1) * cells);
    for (int i = 0; i < RowsScratch::kQueues; ++i) {
      scratch[t].index[i] = reinterpret_cast<std::int32_t*>(std::exchange(at, at + cells));
      for (float*& value : scratch[t].value[i]) value = std::exchange(at, at + cells);
    }
    scratch[t].fresh = at;
  }
  auto* const partial = work.get<double>(0, static_cast<std::size_t>(blocks * stride));

  std::vector<float> ratio(static_cast<std::size_t>(stride), 0.0f);
  if (kernel == RowKernel::sgrld) {  // N_k / s_k, with N_k an exact sum of integers
    std::vector<std::int64_t> total(ratio.size(), 0);
    for (std::int64_t i = 0; i < task.n_touched; ++i)
      for (std::int64_t c = 0; c < stride; ++c)
        total[static_cast<std::size_t>(c)] += task.counts[i * stride + c];
    for (std::int64_t c = 0; c < task.topics; ++c)
      ratio[static_cast<std::size_t>(c)] = static_cast<float>(
          static_cast<double>(total[static_cast<std::size_t>(c)]) * task.factor / sums[c]);
  }
  parallel_for(blocks, threads, [&](std::int64_t block, int thread) {
    RowsTask const mine = block_of(task, block, n, partial);
    RowsScratch const& s = scratch[static_cast<std::size_t>(thread)];
    switch (kernel) {
      case RowKernel::scir: k.simplex_scir(g, mine, s); break;
      case RowKernel::sgrld: k.simplex_sgrld(g, ratio.data(), mine, s); break;
      case RowKernel::relax: k.simplex_relax(g, mine, s); break;
      case RowKernel::start: k.simplex_start(g, start, mine); break;
      case RowKernel::dirichlet_start: k.dirichlet_start(g, start, mine); break;
    }
  });
  if (!task.rows) std::fill_n(sums, stride, 0.0);
  add_blocks(partial, blocks, stride, sums);
}

void run_tlasgr(KernelTable const& k, float* g, std::int64_t n, RowsTask const& task, double* sums,
                double const* steps, double const* totals, Workspace& work, int threads) {
  std::int64_t const stride = task.stride, blocks = (n + kRowBlock - 1) / kRowBlock;
  auto* const partial = work.get<double>(0, static_cast<std::size_t>(blocks * stride));
  auto* const x = work.get<float>(1, static_cast<std::size_t>(n * stride));
  auto const scale = floats(stride, task.topics, [&](std::int64_t c) { return 1.0 / sums[c]; });
  auto const total = floats(stride, task.topics, [&](std::int64_t c) { return totals[c]; });
  auto const step = floats(stride, task.topics, [&](std::int64_t c) { return steps[c]; });
  parallel_for(blocks, threads, [&](std::int64_t block, int) {
    k.simplex_tlasgr(g, x, block_of(task, block, n, partial),
                     {scale.data(), step.data(), total.data()});
  });
  std::fill_n(sums, stride, 0.0);
  add_blocks(partial, blocks, stride, sums);
  auto const excess = floats(stride, task.topics, [&](std::int64_t c) { return sums[c] - 1.0; });
  parallel_for(blocks, threads, [&](std::int64_t block, int) {
    k.simplex_project(g, x, block_of(task, block, n, partial),
                      {scale.data(), excess.data(), total.data()});
  });
  std::fill_n(sums, stride, 0.0);
  add_blocks(partial, blocks, stride, sums);
}

namespace {

/// Shift and scale by which dual coordinates become phi: exp(y - shift) scale.
struct Dual {
  std::vector<float> shift, scale;
  Dual(double const* log_sums, std::int64_t stride, std::int32_t topics, bool approximate) {
    shift = floats(stride, topics, [&](std::int64_t c) { return approximate ? 0.0 : log_sums[c]; });
    // the shift is a float: what it was rounded by goes to the scale
    scale = floats(stride, topics, [&](std::int64_t c) {
      return std::exp(static_cast<double>(shift[static_cast<std::size_t>(c)]) - log_sums[c]);
    });
  }
};

}  // namespace

void run_smld(KernelTable const& k, float* y, std::int64_t n, RowsTask const& task,
              double* log_sums, double const* totals, bool approximate, Workspace& work,
              int threads) {
  std::int64_t const stride = task.stride, blocks = (n + kRowBlock - 1) / kRowBlock;
  auto* const partial = work.get<double>(0, static_cast<std::size_t>(blocks * stride));
  Dual const dual(log_sums, stride, task.topics, approximate);
  auto const total = floats(stride, task.topics, [&](std::int64_t c) { return totals[c]; });
  parallel_for(blocks, threads, [&](std::int64_t block, int) {
    k.simplex_smld(y, block_of(task, block, n, partial),
                   {dual.scale.data(), dual.shift.data(), total.data()}, n - 1, approximate);
  });
  std::vector<double> sums(static_cast<std::size_t>(stride), 0.0);
  add_blocks(partial, blocks, stride, sums.data());
  for (std::int64_t c = 0; c < task.topics; ++c) {
    auto const at = static_cast<std::size_t>(c);
    log_sums[c] = std::log(sums[at]) + static_cast<double>(dual.shift[at]);
  }
}

namespace {

constexpr std::int64_t kPhiChunk = 256;

std::vector<float> inverses(double const* sums, std::int64_t stride, std::int32_t topics) {
  return floats(stride, topics, [&](std::int64_t c) { return 1.0 / sums[c]; });
}

}  // namespace

void run_phi(KernelTable const& k, float const* g, double const* sums, std::int32_t const* rows,
             std::int64_t n, std::int64_t stride, std::int32_t topics, float* out, int threads) {
  auto const inverse = inverses(sums, stride, topics);
  PhiTask const task{stride, topics, inverse.data()};
  parallel_for((n + kPhiChunk - 1) / kPhiChunk, threads, [&](std::int64_t chunk, int) {
    k.simplex_phi(g, rows, chunk * kPhiChunk, std::min(n, (chunk + 1) * kPhiChunk), out, task);
  });
}

void run_smld_phi(KernelTable const& k, float const* y, double const* log_sums,
                  std::int32_t const* rows, std::int64_t n, std::int64_t stride,
                  std::int32_t topics, bool approximate, float* out, int threads) {
  Dual const dual(log_sums, stride, topics, approximate);
  RowsTask task{};
  task.stride = stride;
  task.topics = topics;
  ColumnsTask const columns{dual.scale.data(), dual.shift.data(), nullptr};
  parallel_for((n + kPhiChunk - 1) / kPhiChunk, threads, [&](std::int64_t chunk, int) {
    k.simplex_smld_phi(y, rows, chunk * kPhiChunk, std::min(n, (chunk + 1) * kPhiChunk), out, task,
                       columns, approximate);
  });
}

void run_add_phi(KernelTable const& k, float const* g, double const* sums, double const* lengths,
                 float eta, std::int64_t n, std::int64_t stride, std::int32_t topics, double* total,
                 int threads) {
  auto const inverse = inverses(sums, stride, topics);
  PhiTask const task{stride, topics, inverse.data()};
  parallel_for((n + kPhiChunk - 1) / kPhiChunk, threads, [&](std::int64_t chunk, int) {
    k.simplex_add_phi(g, lengths, eta, chunk * kPhiChunk, std::min(n, (chunk + 1) * kPhiChunk),
                      total, task);
  });
}

void run_scir_log(KernelTable const& k, double* log_g, double const* shape, std::int64_t rows,
                  std::int64_t columns, double h, Address const& address, int threads) {
  constexpr std::int64_t kChunk = 16;
  parallel_for((rows + kChunk - 1) / kChunk, threads, [&](std::int64_t chunk, int) {
    LogRowsTask const task{chunk * kChunk, std::min(rows, (chunk + 1) * kChunk), columns, h,
                           address};
    k.simplex_scir_log(log_g, shape, task);
  });
}

}  // namespace sgmc
