#include <algorithm>
#include <bit>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "sgmc/drivers.hpp"
#include "sgmc/parallel.hpp"

namespace sgmc {
namespace {

/// A size that keeps what follows on a cache line, with room for a whole vector after the last
/// value.
std::size_t padded(std::int64_t n) { return static_cast<std::size_t>((n + 31) / 16 * 16); }

}  // namespace

std::int64_t* counts_in(Workspace& work, std::int64_t n) {
  return work.get<std::int64_t>(0, static_cast<std::size_t>(n));
}

Extent extent_of(std::int64_t const* indptr, std::int32_t const* counts, std::int64_t documents) {
  Extent e;
  e.tokens.resize(static_cast<std::size_t>(documents));
  e.order.resize(e.tokens.size());
  for (std::int64_t d = 0; d < documents; ++d) {
    auto const sum = std::accumulate(counts + indptr[d], counts + indptr[d + 1], std::int64_t{0});
    e.tokens[static_cast<std::size_t>(d)] = sum;
    e.longest = std::max(e.longest, sum);
    e.widest = std::max(e.widest, indptr[d + 1] - indptr[d]);
  }
  std::iota(e.order.begin(), e.order.end(), std::int64_t{0});
  std::stable_sort(e.order.begin(), e.order.end(), [&](std::int64_t a, std::int64_t b) {
    return e.tokens[static_cast<std::size_t>(a)] > e.tokens[static_cast<std::size_t>(b)];
  });
  return e;
}

void clear_untouched(std::int64_t* counts, std::uint8_t const* touched, std::int64_t rows,
                     std::int64_t stride) {
  for (std::int64_t r = 0; r < rows; ++r)
    if (!touched[r]) std::fill_n(counts + r * stride, stride, std::int64_t{0});
}

void run_documents(KernelTable const& k, DocumentsTask task, std::int64_t rows,
                   std::int64_t* word_counts, Workspace& work, int threads) {
  std::int64_t const n = task.documents;
  Extent const extent = extent_of(task.indptr, task.counts, n);
  for (std::int64_t d = 0; d < n; ++d) {
    std::int64_t const sum = extent.tokens[static_cast<std::size_t>(d)];
    if (sum > kMaxCollected / task.kept)
      throw std::invalid_argument("document " + std::to_string(d) + " has " + std::to_string(sum) +
                                  " tokens: at most " + std::to_string(kMaxCollected / task.kept) +
                                  " can be counted in " + std::to_string(task.kept) +
                                  " kept sweeps");
  }
  std::int64_t next = 0;
  task.order = extent.order.data();
  task.next = &next;

  threads = static_cast<int>(std::clamp<std::int64_t>(n / kSlots, 1, threads));
  bool const active = task.topics > kDenseTopics;
  auto const stride = static_cast<std::size_t>(task.stride), all = static_cast<std::size_t>(rows);
  auto const entries = static_cast<std::size_t>(extent.widest | 1), length = padded(extent.longest);
  std::size_t const collected = (word_counts ? entries : 1) * stride;
  std::size_t const columns = active ? entries * stride : 0,
                    share = active ? padded(extent.widest) : 0, maps = active ? stride : 0;
  std::size_t const per_slot =
      2 * length + stride + collected + kUniforms + columns + share + 2 * maps;
  if (active) {
    float* const mass = work.get<float>(1, all);
    constexpr std::int64_t kChunk = 256;
    parallel_for((rows + kChunk - 1) / kChunk, threads, [&](std::int64_t chunk, int) {
      k.row_mass(task.phi, task.stride, chunk * kChunk, std::min(rows, (chunk + 1) * kChunk), mass);
    });
    task.mass = mass;
  }
  if (word_counts) {
    task.word_counts = word_counts;
    task.touched = work.get<std::uint8_t>(2, all);
    task.bucket = work.get<std::int64_t>(3, all);
    std::fill_n(task.touched, rows, std::uint8_t{0});
    std::fill_n(task.bucket, rows, std::int64_t{0});
  }
  std::vector<DocumentsScratch> scratch(static_cast<std::size_t>(threads));
  for (std::size_t t = 0; t < scratch.size(); ++t) {
    float* at = work.get<float>(4 + t, kSlots * (per_slot + stride));
    auto const take = [&](std::size_t size) { return std::exchange(at, at + size); };
    auto const take_int = [&](std::size_t size) {
      return reinterpret_cast<std::int32_t*>(take(size));
    };
    for (DocumentScratch& slot : scratch[t].slot)
      slot = {take_int(length), take_int(length), take(stride),   take(collected), take(kUniforms),
              take(columns),    take(share),      take_int(maps), take_int(maps)};
    scratch[t].sums = at;
  }
  parallel_for(threads, threads, [&](std::int64_t item, int) {
    k.documents_gibbs(task, scratch[static_cast<std::size_t>(item)]);
  });
  if (!word_counts) return;
  parallel_for((rows + kRowBlock - 1) / kRowBlock, threads, [&](std::int64_t block, int) {
    std::int64_t const end = std::min(rows, (block + 1) * kRowBlock);
    for (std::int64_t r = block * kRowBlock; r < end; ++r) {
      std::int64_t* const out = word_counts + r * task.stride;
      if (!task.touched[r]) std::fill_n(out, task.stride, std::int64_t{0});
      if (task.bucket[r] > 0)
        k.spread_bucket(task.phi + r * task.stride, task.stride, task.mass[r], task.bucket[r], out);
    }
  });
}

std::vector<std::int32_t> renumber(std::int32_t const* ids, std::int64_t n, std::int32_t* out) {
  std::int32_t const most = n ? *std::max_element(ids, ids + n) : -1;
  std::size_t const groups = static_cast<std::size_t>(std::int64_t{most} + 64) / 64;
  std::vector<std::uint64_t> seen(groups, 0);
  std::vector<std::int32_t> before(groups, 0);  // distinct ids in the groups before
  for (std::int64_t i = 0; i < n; ++i)
    seen[static_cast<std::size_t>(ids[i] >> 6)] |= std::uint64_t{1} << (ids[i] & 63);
  std::vector<std::int32_t> distinct;
  for (std::size_t g = 0; g < groups; ++g) {
    before[g] = static_cast<std::int32_t>(distinct.size());
    for (std::uint64_t m = seen[g]; m; m &= m - 1)
      distinct.push_back(static_cast<std::int32_t>(64 * g) + std::countr_zero(m));
  }
  for (std::int64_t i = 0; i < n; ++i) {
    auto const g = static_cast<std::size_t>(ids[i] >> 6);
    std::uint64_t const lower = seen[g] & ((std::uint64_t{1} << (ids[i] & 63)) - 1);
    out[i] = before[g] + std::popcount(lower);
  }
  return distinct;
}

void run_predictive(KernelTable const& k, PredictiveTask const& task, std::int64_t documents,
                    int threads) {
  constexpr std::int64_t kChunk = 64;
  std::vector<double> theta(static_cast<std::size_t>(std::max(1, threads)) *
                            static_cast<std::size_t>(task.stride));
  parallel_for((documents + kChunk - 1) / kChunk, threads, [&](std::int64_t chunk, int thread) {
    k.predictive(task, chunk * kChunk, std::min(documents, (chunk + 1) * kChunk),
                 theta.data() + thread * task.stride);
  });
}

}  // namespace sgmc
