#include <algorithm>
#include <numeric>

#include "sgmc/drivers.hpp"
#include "sgmc/parallel.hpp"

namespace sgmc {

void run_documents(KernelTable const& k, DocumentsTask task, std::int64_t rows,
                   std::int64_t* word_counts, Workspace& work, int threads) {
  std::int64_t const n = task.documents;
  std::vector<std::int64_t> tokens(static_cast<std::size_t>(n)), order(tokens.size());
  std::int64_t longest = 0, widest = 0;
  for (std::int64_t d = 0; d < n; ++d) {
    std::int64_t sum = 0;
    for (std::int64_t i = task.indptr[d]; i < task.indptr[d + 1]; ++i) sum += task.counts[i];
    tokens[static_cast<std::size_t>(d)] = sum;
    longest = std::max(longest, sum);
    widest = std::max(widest, task.indptr[d + 1] - task.indptr[d]);
  }
  // longest first: no thread is left alone with a long document at the end
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return tokens[static_cast<std::size_t>(a)] > tokens[static_cast<std::size_t>(b)];
  });
  std::int64_t next = 0;
  task.order = order.data();
  task.next = &next;

  threads = static_cast<int>(std::clamp<std::int64_t>(n / kSlots, 1, threads));
  auto const stride = static_cast<std::size_t>(task.stride);
  auto const matrix = static_cast<std::size_t>(rows) * stride;
  std::size_t const collected = (word_counts ? static_cast<std::size_t>(widest) : 1) * stride;
  auto const length = static_cast<std::size_t>(longest);
  constexpr std::size_t kPools = 3;
  std::vector<std::int64_t*> counts(static_cast<std::size_t>(threads), nullptr);
  std::vector<std::uint8_t*> touched(counts.size(), nullptr);
  std::vector<DocumentsScratch> scratch(counts.size());
  for (std::size_t t = 0; t < counts.size(); ++t) {
    if (word_counts) {
      counts[t] = t == 0 ? word_counts : work.get<std::int64_t>(kPools * t, matrix);
      touched[t] = work.get<std::uint8_t>(kPools * t + 1, static_cast<std::size_t>(rows));
      std::fill_n(touched[t], rows, std::uint8_t{0});
    }
    std::size_t const lengths = (length + 31) / 16 * 16;
    std::size_t const per_slot = 2 * lengths + stride + collected + kUniforms;
    auto* at = work.get<float>(kPools * t + 2, kSlots * per_slot + stride);
    for (int i = 0; i < kSlots; ++i) {
      scratch[t].token[i] = reinterpret_cast<std::int32_t*>(at);
      scratch[t].z[i] = reinterpret_cast<std::int32_t*>(at + lengths);
      scratch[t].counts[i] = at + 2 * lengths;
      scratch[t].collected[i] = at + 2 * lengths + stride;
      scratch[t].uniforms[i] = at + 2 * lengths + stride + collected;
      at += per_slot;
    }
    scratch[t].sums = at;
  }
  parallel_for(threads, threads, [&](std::int64_t item, int) {
    auto const t = static_cast<std::size_t>(item);
    DocumentsTask mine = task;
    mine.word_counts = counts[t];
    mine.touched = touched[t];
    k.documents_gibbs(mine, scratch[t]);
  });
  if (!word_counts) return;
  // every thread's counts of a row are added here: integers, so who counted what cannot matter
  parallel_for((rows + kRowBlock - 1) / kRowBlock, threads, [&](std::int64_t block, int) {
    std::int64_t const end = std::min(rows, (block + 1) * kRowBlock);
    for (std::int64_t r = block * kRowBlock; r < end; ++r) {
      std::int64_t* const out = word_counts + r * task.stride;
      bool filled = touched[0][r] != 0;
      for (std::size_t t = 1; t < counts.size(); ++t) {
        if (!touched[t][r]) continue;
        std::int64_t const* const in = counts[t] + r * task.stride;
        if (filled)
          for (std::int64_t i = 0; i < task.stride; ++i) out[i] += in[i];
        else
          std::copy_n(in, task.stride, out);
        filled = true;
      }
      if (!filled) std::fill_n(out, task.stride, std::int64_t{0});
    }
  });
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
