#include <algorithm>
#include <utility>

#include "sgmc/drivers.hpp"
#include "sgmc/parallel.hpp"

namespace sgmc {

void run_deep(KernelTable const& k, DeepTask task, std::int64_t rows, std::int64_t* word_counts,
              std::int64_t* const* upper, std::int64_t* tables, Workspace& work, int threads) {
  Scratch memory(work);
  std::int64_t const n = task.documents;
  int const layers = task.layers;
  Extent const extent = extent_of(task);
  if (task.link == Link::counts) check_collected(extent, 1);  // tables are drawn token by token
  // an entry is split over the topics in one step, whatever its count
  check_draws(task.indptr[n] + n, task.sweeps);
  std::int64_t next = 0;
  std::uint8_t not_finite = 0;
  task.order = extent.order.data();
  task.next = &next;
  task.not_finite = &not_finite;

  std::int64_t all = 0, wide = 0, above = 0, turned = 0;
  for (int l = 0; l < layers; ++l) {
    all += task.stride[l];
    wide = std::max(wide, task.stride[l]);
    if (l > 0) above += task.topics[l - 1] * task.stride[l];
    if (l > 0) turned += task.stride[l] * task.stride[l - 1];
  }
  auto* across = memory.get<float>(0, static_cast<std::size_t>(turned));
  std::fill_n(across, turned, 0.0f);
  for (int l = 1; l < layers; ++l) {
    task.across[l] = across;
    for (std::int64_t v = 0; v < task.topics[l - 1]; ++v)
      for (std::int64_t c = 0; c < task.topics[l]; ++c)
        across[c * task.stride[l - 1] + v] = task.phi[l][v * task.stride[l] + c];
    across += task.stride[l] * task.stride[l - 1];
  }
  if (word_counts) {
    task.word_counts = word_counts;
    task.touched = memory.get<std::uint8_t>(1, static_cast<std::size_t>(rows));
    std::fill_n(task.touched, rows, std::uint8_t{0});
  }

  threads = static_cast<int>(std::clamp<std::int64_t>(n, 1, threads));
  std::int64_t const room = wide + 16;
  std::int64_t const collected = word_counts ? extent.widest * task.stride[0] : 0;
  auto const floats =
      static_cast<std::size_t>(4 * all + kGroup * (room + 32) + 6 * room + collected);
  std::int64_t const sums = above + task.stride[layers - 1];
  std::vector<DeepScratch> scratch(static_cast<std::size_t>(threads));
  for (std::size_t t = 0; t < scratch.size(); ++t) {
    DeepScratch& s = scratch[t];
    float* at = memory.get<float>(2 + 2 * t, floats);
    auto const take = [&](std::int64_t size) { return std::exchange(at, at + size); };
    s.theta = take(all);
    s.totals = take(all);
    s.shape = take(all);
    s.expected = take(all);
    s.sums = take(kGroup * room);
    s.group = take(kGroup * 32);
    s.waiting = take(2 * room);
    s.at = reinterpret_cast<std::int32_t*>(take(2 * room));
    s.lifted = take(2 * room);
    s.collected = take(collected);
    if (!upper && !tables) continue;
    auto* counts = memory.get<std::int64_t>(3 + 2 * t, static_cast<std::size_t>(sums));
    std::fill_n(counts, sums, std::int64_t{0});
    for (int l = 1; l < layers; ++l)
      s.upper[l] = std::exchange(counts, counts + task.topics[l - 1] * task.stride[l]);
    s.tables = counts;
  }
  parallel_for(threads, threads, [&](std::int64_t item, int) {
    k.documents.deep(task, scratch[static_cast<std::size_t>(item)]);
  });
  if (not_finite)
    throw NotFinite("phi, theta, r: weights of a document are no numbers, or no float32");
  // integers, so the order of threads does not matter
  for (DeepScratch const& s : scratch) {
    for (int l = 1; l < layers && upper; ++l)
      for (std::int64_t i = 0; i < task.topics[l - 1] * task.stride[l]; ++i)
        upper[l][i] += s.upper[l][i];
    for (std::int64_t i = 0; i < task.stride[layers - 1] && tables; ++i) tables[i] += s.tables[i];
  }
  if (!word_counts) return;
  clear_untouched(word_counts, task.touched, rows, task.stride[0]);
}

}  // namespace sgmc
