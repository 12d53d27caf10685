#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "sgmc/drivers.hpp"
#include "sgmc/parallel.hpp"

namespace sgmc {

namespace {

/// Adds n values to those of `to`.
void add(double const* values, std::int64_t n, double* to) {
  for (std::int64_t i = 0; i < n; ++i) to[i] += values[i];
}

/// Rows of a task that are stepped in sequence: positions begin to end - 1 of its list, in one
/// unit.
struct RowBlock {
  std::int64_t begin, end, unit;
};

/// The blocks of a task's `n` rows, in order; with a `share`, which requires all rows, only the
/// blocks of its units.
std::vector<RowBlock> blocks_of(std::int64_t n, RowsTask const& task, UnitShare const* share) {
  std::vector<RowBlock> blocks;
  blocks.reserve(static_cast<std::size_t>(n / kRowBlock + 1));
  for (std::int64_t begin = 0, end = 0; begin < n; begin = end) {
    std::int64_t const unit = (task.rows ? task.rows[begin] : begin) / kRowUnit;
    if (task.rows) {
      std::int64_t const most = std::min(n, begin + kRowBlock);
      for (end = begin + 1; end < most && task.rows[end] / kRowUnit == unit;) ++end;
    } else {
      end = std::min(n, begin + kRowBlock);
      if (share && unit % share->size != share->rank) continue;
    }
    blocks.push_back({begin, end, unit});
  }
  return blocks;
}

/// The part of a task that consists of one block of rows; its sums go to `partial`.
RowsTask part_of(RowsTask const& task, RowBlock const& block, double* partial) {
  RowsTask mine = task;
  mine.begin = block.begin;
  mine.end = block.end;
  auto const word = [&](std::int64_t i) { return task.rows ? task.rows[i] : i; };
  auto const* const first =
      std::lower_bound(task.touched, task.touched + task.n_touched, word(mine.begin));
  auto const* const last =
      std::upper_bound(first, task.touched + task.n_touched, word(mine.end - 1));
  mine.touched = first;
  mine.n_touched = last - first;
  mine.counts = task.counts + (first - task.touched) * task.stride;
  mine.sums = partial;
  return mine;
}

/// Calls fn(task of a block, thread) for all blocks of `n` rows. `sums` (stride) becomes the sums
/// of the rows, added by units in order; for a list, the change is added to `sums`. With a `share`,
/// its units' contribution is left there and `sums` does not change.
void over_blocks(std::int64_t n, RowsTask const& task, double* sums, Scratch& memory, int threads,
                 auto&& fn, UnitShare const* share = nullptr) {
  std::int64_t const stride = task.stride;
  auto const blocks = blocks_of(n, task, share);
  auto* const partial = memory.get<double>(0, blocks.size() * static_cast<std::size_t>(stride));
  parallel_for(static_cast<std::int64_t>(blocks.size()), threads, [&](std::int64_t i, int thread) {
    fn(part_of(task, blocks[static_cast<std::size_t>(i)], partial + i * stride), thread);
  });
  if (!share && !task.rows) std::fill_n(sums, stride, 0.0);
  for (std::size_t i = 0, next = 0; i < blocks.size(); i = next) {
    double* const unit = partial + static_cast<std::int64_t>(i) * stride;
    for (next = i + 1; next < blocks.size() && blocks[next].unit == blocks[i].unit; ++next)
      add(partial + static_cast<std::int64_t>(next) * stride, stride, unit);
    if (share)
      std::copy_n(unit, stride, share->added + blocks[i].unit * stride);
    else
      add(unit, stride, sums);
  }
}

std::vector<float> floats(std::int64_t stride, std::int32_t topics, auto&& of) {
  std::vector<float> values(static_cast<std::size_t>(stride), 0.0f);
  for (std::int64_t c = 0; c < topics; ++c)
    values[static_cast<std::size_t>(c)] = static_cast<float>(of(c));
  return values;
}

}  // namespace

void check_sums(char const* name, double const* sums, std::int32_t topics) {
  for (std::int32_t c = 0; c < topics; ++c)
    if (!std::isfinite(sums[c]))
      throw NotFinite(std::string(name) + ": topic " + std::to_string(c) + " is " +
                      std::to_string(sums[c]));
}

void add_units(double const* added, std::int64_t units, std::int64_t stride, bool anew,
               double* sums) {
  if (anew) std::fill_n(sums, stride, 0.0);
  for (std::int64_t unit = 0; unit < units; ++unit) add(added + unit * stride, stride, sums);
}

void run_rows(KernelTable const& k, RowKernel kernel, float* g, std::int64_t n, RowsTask task,
              double* sums, std::int64_t const* totals, Workspace& work, int threads,
              UnitShare const* share) {
  Scratch memory(work);
  check_sums("sums", sums, task.topics);
  std::int64_t const stride = task.stride;
  auto const cells = static_cast<std::size_t>(kRowBlock * stride + kPad);
  bool const natural = kernel == RowKernel::scir_natural;
  std::vector<RowsScratch> scratch;
  if (natural || kernel == RowKernel::scir) scratch.resize(static_cast<std::size_t>(threads));
  for (std::size_t t = 0; t < scratch.size(); ++t) {
    auto* at = memory.get<float>(t + 1, (4 * RowsScratch::kQueues + 1) * cells);
    for (int i = 0; i < RowsScratch::kQueues; ++i) {
      scratch[t].index[i] = reinterpret_cast<std::int32_t*>(std::exchange(at, at + cells));
      for (float*& value : scratch[t].value[i]) value = std::exchange(at, at + cells);
    }
    scratch[t].fresh = at;
  }

  std::vector<float> ratio(static_cast<std::size_t>(stride), 0.0f), take;
  if (kernel == RowKernel::sgrld || kernel == RowKernel::sgrhmc ||
      natural) {  // N_k / s_k, where N_k is an exact sum of integers
    std::vector<std::int64_t> total(ratio.size(), 0);
    if (totals) total.assign(totals, totals + stride);
    for (std::int64_t i = 0; !totals && i < task.n_touched; ++i)
      for (std::int64_t c = 0; c < stride; ++c) {
        std::int64_t& all = total[static_cast<std::size_t>(c)];
        all = sum_of(all, task.counts[i * stride + c]);
      }
    for (std::int64_t c = 0; c < task.topics; ++c)
      ratio[static_cast<std::size_t>(c)] = static_cast<float>(
          static_cast<double>(total[static_cast<std::size_t>(c)]) * task.factor / sums[c]);
  }
  if (kernel == RowKernel::sgrhmc)
    for (std::int64_t c = 0; c < task.topics; ++c)
      ratio[static_cast<std::size_t>(c)] += static_cast<float>(task.prior_rate);
  if (natural) {  // rate kappa = 1 + N_k / s_k, constant during the step
    take.resize(ratio.size(), 0.0f);
    for (std::size_t c = 0; c < static_cast<std::size_t>(task.topics); ++c) {
      double const kappa = std::min(1.0 + static_cast<double>(ratio[c]), 1e30);
      double const all = -std::expm1(-kappa * task.h);
      ratio[c] = static_cast<float>(std::exp(-kappa * task.h) * kappa / all);
      take[c] = static_cast<float>(all / kappa);
    }
    task.column_rate = ratio.data();
    task.column_take = take.data();
  }
  auto const step = [&](RowsTask const& mine, int thread) {
    switch (kernel) {
      case RowKernel::scir:
      case RowKernel::scir_natural:
        k.simplex.scir(g, mine, scratch[static_cast<std::size_t>(thread)]);
        break;
      case RowKernel::sgrld: k.simplex.sgrld(g, ratio.data(), mine); break;
      case RowKernel::sgrhmc: k.simplex.sgrhmc(g, ratio.data(), mine); break;
      case RowKernel::relax: k.simplex.relax(g, mine); break;
    }
  };
  over_blocks(n, task, sums, memory, threads, step, share);
}

void run_start(decltype(SimplexKernels::start) kernel, float* g, std::int64_t n, float parameter,
               RowsTask const& task, double* sums, Workspace& work, int threads,
               UnitShare const* share) {
  Scratch memory(work);
  over_blocks(
      n, task, sums, memory, threads,
      [&](RowsTask const& mine, int) { kernel(g, parameter, mine); }, share);
}

void run_tlasgr(KernelTable const& k, float* g, std::int64_t n, RowsTask const& task, double* sums,
                double const* steps, double const* totals, bool clip, Workspace& work,
                int threads) {
  Scratch memory(work);
  check_sums("sums", sums, task.topics);
  std::int64_t const stride = task.stride;
  auto* const x = memory.get<float>(1, static_cast<std::size_t>(n * stride));
  auto const scale = floats(stride, task.topics, [&](std::int64_t c) { return 1.0 / sums[c]; });
  auto const total = floats(stride, task.topics, [&](std::int64_t c) { return totals[c]; });
  auto const step = floats(stride, task.topics, [&](std::int64_t c) { return steps[c]; });
  over_blocks(n, task, sums, memory, threads, [&](RowsTask const& mine, int) {
    k.simplex.tlasgr(g, x, mine, {scale.data(), step.data(), total.data()});
  });
  auto const excess = floats(stride, task.topics, [&](std::int64_t c) { return sums[c] - 1.0; });
  over_blocks(n, task, sums, memory, threads, [&](RowsTask const& mine, int) {
    k.simplex.project(g, x, mine, {scale.data(), excess.data(), total.data()}, clip);
  });
}

namespace {

/// Shift and scale that turn dual coordinates into phi: exp(y - shift) scale.
struct Dual {
  std::vector<float> shift, scale;
  Dual(double const* log_sums, std::int64_t stride, std::int32_t topics, bool approximate) {
    shift = floats(stride, topics, [&](std::int64_t c) { return approximate ? 0.0 : log_sums[c]; });
    // the shift is a float, and its rounding error goes to the scale
    scale = floats(stride, topics, [&](std::int64_t c) {
      return std::exp(static_cast<double>(shift[static_cast<std::size_t>(c)]) - log_sums[c]);
    });
  }
};

}  // namespace

void run_smld(KernelTable const& k, float* y, std::int64_t n, RowsTask const& task,
              double* log_sums, double const* totals, bool approximate, Workspace& work,
              int threads) {
  Scratch memory(work);
  check_sums("log_sums", log_sums, task.topics);
  std::int64_t const stride = task.stride;
  Dual const dual(log_sums, stride, task.topics, approximate);
  auto const total = floats(stride, task.topics, [&](std::int64_t c) { return totals[c]; });
  std::vector<double> sums(static_cast<std::size_t>(stride));
  over_blocks(n, task, sums.data(), memory, threads, [&](RowsTask const& mine, int) {
    k.simplex.smld(y, mine, {dual.scale.data(), dual.shift.data(), total.data()}, n - 1,
                   approximate);
  });
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
    k.simplex.phi(g, rows, chunk * kPhiChunk, std::min(n, (chunk + 1) * kPhiChunk), out, task);
  });
}

void run_smld_phi(KernelTable const& k, float const* y, double const* log_sums,
                  std::int32_t const* rows, std::int64_t n, std::int64_t stride,
                  std::int32_t topics, bool approximate, float* out, int threads) {
  Dual const dual(log_sums, stride, topics, approximate);
  ColumnsTask const columns{dual.scale.data(), dual.shift.data(), nullptr};
  parallel_for((n + kPhiChunk - 1) / kPhiChunk, threads, [&](std::int64_t chunk, int) {
    k.simplex.smld_phi(y, rows, chunk * kPhiChunk, std::min(n, (chunk + 1) * kPhiChunk), out,
                       stride, topics, columns, approximate);
  });
}

void run_add_phi(KernelTable const& k, float const* g, double const* sums, double const* lengths,
                 float eta, std::int64_t n, std::int64_t stride, std::int32_t topics, double* total,
                 int threads) {
  auto const inverse = inverses(sums, stride, topics);
  PhiTask const task{stride, topics, inverse.data()};
  parallel_for((n + kPhiChunk - 1) / kPhiChunk, threads, [&](std::int64_t chunk, int) {
    k.simplex.add_phi(g, lengths, eta, chunk * kPhiChunk, std::min(n, (chunk + 1) * kPhiChunk),
                      total, task);
  });
}

void run_scir_log(KernelTable const& k, double* log_g, double const* shape, std::int64_t rows,
                  std::int64_t columns, double h, double const* kappa, Address const& address,
                  int threads) {
  constexpr std::int64_t kChunk = 16;
  std::vector<double> log_rate(static_cast<std::size_t>(columns)), log_take(log_rate.size());
  for (std::size_t c = 0; c < log_rate.size(); ++c) {
    double const pace = kappa ? kappa[c] : 1.0, length = pace * h;
    log_take[c] = std::log(-std::expm1(-length)) - std::log(pace);
    log_rate[c] = -length - log_take[c];
  }
  parallel_for((rows + kChunk - 1) / kChunk, threads, [&](std::int64_t chunk, int) {
    LogRowsTask const task{chunk * kChunk,  std::min(rows, (chunk + 1) * kChunk),
                           columns,         log_rate.data(),
                           log_take.data(), address};
    k.simplex.scir_log(log_g, shape, task);
  });
}

}  // namespace sgmc
