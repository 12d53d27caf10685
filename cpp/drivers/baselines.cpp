#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "sgmc/drivers.hpp"
#include "sgmc/parallel.hpp"

namespace sgmc {

void run_mean_field(KernelTable const& k, MeanFieldTask task, std::int64_t rows,
                    std::int64_t* word_counts, Workspace& work, int threads) {
  Scratch memory(work);
  Extent const extent = extent_of(task);
  check_draws(task.indptr[task.documents] + task.documents, task.sweeps);
  std::int64_t next = 0;
  task.order = extent.order.data();
  task.next = &next;
  if (word_counts) {
    task.word_counts = word_counts;
    task.touched = memory.get<std::uint8_t>(0, static_cast<std::size_t>(rows));
    std::fill_n(task.touched, rows, std::uint8_t{0});
  }
  threads = static_cast<int>(std::clamp<std::int64_t>(task.documents, 1, threads));
  check_rows_of(k, "weights", task.weights, nullptr, rows, task.stride, 1.0, memory, 1, threads);
  auto const stride = static_cast<std::size_t>(task.stride);
  std::vector<MeanFieldScratch> scratch(static_cast<std::size_t>(threads));
  for (std::size_t t = 0; t < scratch.size(); ++t) {
    float* const at = memory.get<float>(1 + t, 2 * stride);
    scratch[t] = {at, at + stride};
  }
  parallel_for(threads, threads, [&](std::int64_t item, int) {
    k.documents.mean_field(task, scratch[static_cast<std::size_t>(item)]);
  });
  for (std::int64_t d = 0; d < task.documents; ++d) {
    float const* const gamma = task.gamma + d * task.stride;
    if (float const sum = std::accumulate(gamma, gamma + task.topics, 0.0f); !(sum <= kMost))
      throw NotFinite("gamma: document " + std::to_string(d) + " sums to " + std::to_string(sum));
  }
  if (word_counts) clear_untouched(word_counts, task.touched, rows, task.stride);
}

CollapsedSweeps::CollapsedSweeps(KernelTable const& k, std::vector<CollapsedTask> tasks,
                                 std::int64_t rows, std::int64_t visited, Workspace& work,
                                 int threads)
    : kernels_(k),
      tasks_(std::move(tasks)),
      cells_(rows * tasks_.front().stride),
      visited_(visited),
      threads_(threads),
      memory_(work) {
  CollapsedTask const& first = tasks_.front();
  check_draws(first.token_ptr[first.documents] - first.token_ptr[0] + first.documents,
              first.sweeps);
  std::int64_t const stride = first.stride;
  auto const chains = static_cast<std::int64_t>(tasks_.size());
  auto* const tables = memory_.get<std::int32_t>(0, static_cast<std::size_t>(chains * cells_));
  totals_.assign(static_cast<std::size_t>(chains * stride), 0);
  float* at = memory_.get<float>(1, static_cast<std::size_t>(chains * (4 * stride + kUniforms)));
  auto const take = [&](std::int64_t n) { return std::exchange(at, at + n); };
  for (std::int64_t c = 0; c < chains; ++c) {
    CollapsedTask& task = tasks_[static_cast<std::size_t>(c)];
    task.table = tables + c * cells_;
    task.totals = totals_.data() + c * stride;
    scratch_.push_back({take(stride), take(stride), take(stride), take(stride), take(kUniforms)});
  }
  parallel_for(chains, threads, [&](std::int64_t c, int) {
    CollapsedTask const& task = tasks_[static_cast<std::size_t>(c)];
    std::fill_n(task.table, cells_, 0);
    for (std::int64_t d = 0; d < task.documents; ++d) {
      std::int32_t const* z = task.z + task.token_ptr[d];
      for (std::int64_t i = task.indptr[d]; i < task.indptr[d + 1]; ++i)
        for (std::int32_t n = 0; n < task.counts[i]; ++n, ++z) {
          if (*z < 0) continue;
          ++task.table[task.indices[i] * stride + *z];
          ++task.totals[*z];
        }
    }
  });
}

bool CollapsedSweeps::run(double seconds) {
  using Clock = std::chrono::steady_clock;
  constexpr std::int64_t kTokens = 1024;  // tokens of documents between two readings of the clock
  CollapsedTask const& task = tasks_.front();
  auto const began = Clock::now();
  while (task.documents > 0 && visited_ / task.documents < task.sweeps) {
    std::int64_t const first = visited_ % task.documents;
    std::int64_t last = first + 1;
    while (last < task.documents && task.token_ptr[last] - task.token_ptr[first] < kTokens) ++last;
    CollapsedPart const part{static_cast<std::int32_t>(visited_ / task.documents), first, last};
    parallel_for(1, 1, [&](std::int64_t, int) {
      kernels_.documents.collapsed(tasks_.data(), scratch_.data(), static_cast<int>(tasks_.size()),
                                   part);
    });
    visited_ += last - first;
    if (std::chrono::duration<double>(Clock::now() - began).count() >= seconds) return true;
  }
  return false;
}

void CollapsedSweeps::copy_tables(std::int64_t* word_counts) const {
  std::int64_t const all = static_cast<std::int64_t>(tasks_.size()) * cells_;
  std::int64_t const some = kRowBlock * tasks_.front().stride;
  std::int32_t const* const tables = tasks_.front().table;
  parallel_for((all + some - 1) / some, threads_, [&](std::int64_t block, int) {
    std::int64_t const end = std::min(all, (block + 1) * some);
    for (std::int64_t i = block * some; i < end; ++i) word_counts[i] = tables[i];
  });
}

void run_mixture(KernelTable const& k, MixtureTask const& task, int threads) {
  constexpr std::int64_t kChunk = 256;
  std::vector<float> scores(static_cast<std::size_t>(std::max(1, threads)) *
                            static_cast<std::size_t>(task.stride));
  parallel_for(
      (task.documents + kChunk - 1) / kChunk, threads, [&](std::int64_t chunk, int thread) {
        k.documents.mixture(task, chunk * kChunk, std::min(task.documents, (chunk + 1) * kChunk),
                            scores.data() + thread * task.stride);
      });
}

namespace {

/// exp(-psi(x)), x > 0, in double precision, by recurrence up to 10 and then the asymptotic series.
double exp_minus_digamma(double x) {
  double drop = 0.0;
  for (; x < 10.0; x += 1.0) drop += 1.0 / x;
  double const r = 1.0 / x, r2 = r * r;
  drop += 0.5 * r + r2 * (1.0 / 12.0 - r2 * (1.0 / 120.0 - r2 * (1.0 / 252.0 - r2 / 240.0)));
  return std::exp(drop) / x;
}

}  // namespace

void run_dirichlet_weights(KernelTable const& k, float const* g, double const* sums,
                           std::int32_t const* rows, std::int64_t n, std::int64_t stride,
                           std::int32_t topics, float* out, int threads) {
  for (std::int32_t c = 0; c < topics; ++c)
    if (!(sums[c] > 0.0 && std::isfinite(sums[c])))
      throw NotFinite("sums: topic " + std::to_string(c) + " is " + std::to_string(sums[c]) +
                      ", wanted a positive number");
  std::vector<float> inverse(static_cast<std::size_t>(stride), 0.0f);
  for (std::int32_t c = 0; c < topics; ++c)
    inverse[static_cast<std::size_t>(c)] = static_cast<float>(exp_minus_digamma(sums[c]));
  PhiTask const task{stride, topics, inverse.data()};
  constexpr std::int64_t kChunk = 64;
  parallel_for((n + kChunk - 1) / kChunk, threads, [&](std::int64_t chunk, int) {
    k.simplex.dirichlet_weights(g, rows, chunk * kChunk, std::min(n, (chunk + 1) * kChunk), out,
                                task);
  });
}

}  // namespace sgmc
