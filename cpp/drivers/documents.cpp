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

/// Size at which the next array starts on a cache line, with room for a whole vector after the last
/// value.
std::size_t padded(std::int64_t n) { return static_cast<std::size_t>((n + 31) / 16 * 16); }

/// Number of counts deferred by a thread, 8 MB; more if a single document needs more.
constexpr std::size_t kMostWaiting = std::size_t{1} << 20;

/// Makes room for `room` waiting counts of any of the task's documents.
WaitingCounts waiting_counts(DocumentsTask const& task, std::size_t room, Scratch& memory,
                             std::size_t slot) {
  auto const lists = static_cast<std::size_t>(task.indptr[task.documents] - task.indptr[0]);
  auto const rows = static_cast<std::size_t>(task.rows) + 1;
  // in units of four bytes; packed counts are written sixteen at a time
  std::int32_t* at =
      memory.get<std::int32_t>(slot, 2 * (lists + 1 + rows) + 2 * lists + 2 * (room + kPad));
  auto const take = [&](std::size_t size) { return std::exchange(at, at + size); };
  WaitingCounts w{};
  w.begin = reinterpret_cast<std::int64_t*>(take(2 * (lists + 1)));
  w.first = reinterpret_cast<std::int64_t*>(take(2 * rows));
  w.row = take(lists);
  w.order = take(lists);
  w.topic = take(room + kPad);
  w.value = reinterpret_cast<float*>(take(room + kPad));
  w.room = static_cast<std::int64_t>(room);
  return w;
}

/// Whether a single sweep over a document is faster over the topics it uses, whose columns must be
/// copied, than over all topics. The costs are measured, in tenths of a nanosecond: per cell of a
/// column, per token with columns, and per block of topics of a token.
bool is_sparse(std::int64_t tokens, std::int64_t entries, std::int64_t used, std::int32_t topics) {
  std::int64_t const few = 60 * used * entries + tokens * (600 + 30 * (used / kPad + 1));
  return few < tokens * 35 * (topics / kPad);
}

/// Moves sparse documents, as judged by their tokens' topics, before all others, in the same order;
/// returns their number. A document with a token that has no topic yet is not sparse.
std::int64_t sparse_first(DocumentsTask const& task, Extent& extent) {
  if (!task.z) return 0;
  std::vector<std::int64_t> seen(static_cast<std::size_t>(task.topics), -1);
  auto const sparse = [&](std::int64_t d) {
    std::int64_t const begin = task.token_ptr[d], end = task.token_ptr[d + 1];
    std::int64_t used = 0;
    for (std::int64_t t = begin; t < end; ++t) {
      if (task.z[t] < 0) return false;
      std::int64_t& by = seen[static_cast<std::size_t>(task.z[t])];
      used += by != d;
      by = d;
    }
    return is_sparse(end - begin, task.indptr[d + 1] - task.indptr[d], used, task.topics);
  };
  return std::stable_partition(extent.order.begin(), extent.order.end(), sparse) -
         extent.order.begin();
}

}  // namespace

void check_collected(Extent const& extent, std::int32_t kept) {
  for (std::size_t d = 0; d < extent.tokens.size(); ++d)
    if (extent.tokens[d] > kMaxCollected / kept)
      throw std::invalid_argument("document " + std::to_string(d) + " has " +
                                  std::to_string(extent.tokens[d]) + " tokens: at most " +
                                  std::to_string(kMaxCollected / kept) + " can be counted in " +
                                  std::to_string(kept) + " kept sweeps");
}

void check_draws(std::int64_t items, std::int32_t sweeps, char const* name) {
  if (sweeps > kMaxSweeps)
    throw std::invalid_argument(std::string(name) + ": " + std::to_string(sweeps) +
                                ", wanted at most " + std::to_string(kMaxSweeps));
  if (sweeps > 0 && items > kMaxDraws / sweeps)
    throw std::invalid_argument(std::string(name) + ": " + std::to_string(items) +
                                " tokens or entries times " + std::to_string(sweeps) + " " + name +
                                ", wanted at most " + std::to_string(kMaxDraws) +
                                " draws in one call");
}

namespace {

/// Whether a row's sum, also if multiplied by `most`, is positive and finite.
bool is_mass(float mass, double most) {
  return mass > 0.0f && static_cast<double>(mass) * most < static_cast<double>(kMost);
}

void check_masses(char const* name, float const* mass, std::int64_t rows, double most) {
  for (std::int64_t r = 0; r < rows; ++r)
    if (!is_mass(mass[r], most))
      throw NotFinite(std::string(name) + ": row " + std::to_string(r) + " sums to " +
                      std::to_string(mass[r]) +
                      ", wanted weights that are not negative and a sum that is positive and "
                      "finite");
}

/// run_spread with room for the sums of rows.
void spread(KernelTable const& k, FoundRows<float> const& phi, std::int64_t const* order,
            std::int64_t rows, float const* share, float* mass, std::int64_t const* bucket,
            std::int64_t* word_counts, int threads) {
  parallel_for((rows + kRowBlock - 1) / kRowBlock, threads, [&](std::int64_t block, int) {
    std::int64_t const end = std::min(rows, (block + 1) * kRowBlock);
    for (std::int64_t r = block * kRowBlock; r < end; ++r) {
      float const* const weights = phi.row(order ? order[r] : r);
      k.documents.row_mass(weights, share, phi.stride, 0, 1, mass + r, nullptr);
      if (bucket[r] > 0 && is_mass(mass[r], 1.0))
        k.documents.spread_bucket(weights, share, phi.stride, mass[r], bucket[r],
                                  word_counts + r * phi.stride);
    }
  });
  check_masses("phi", mass, rows, 1.0);
}

}  // namespace

float const* check_rows_of(KernelTable const& k, char const* name, float const* weights,
                           float const* share, std::int64_t rows, std::int64_t stride, double most,
                           Scratch& memory, std::size_t slot, int threads, float* running) {
  float* const mass = memory.get<float>(slot, static_cast<std::size_t>(rows));
  constexpr std::int64_t kChunk = 256;
  parallel_for((rows + kChunk - 1) / kChunk, threads, [&](std::int64_t chunk, int) {
    k.documents.row_mass(weights, share, stride, chunk * kChunk,
                         std::min(rows, (chunk + 1) * kChunk), mass, running);
  });
  check_masses(name, mass, rows, most);
  return mass;
}

Extent extent_of(Csr const& documents) {
  Extent e;
  e.tokens.resize(static_cast<std::size_t>(documents.documents));
  e.order.resize(e.tokens.size());
  for (std::int64_t d = 0; d < documents.documents; ++d) {
    std::int64_t const begin = documents.indptr[d], end = documents.indptr[d + 1];
    auto const sum =
        std::accumulate(documents.counts + begin, documents.counts + end, std::int64_t{0});
    e.tokens[static_cast<std::size_t>(d)] = sum;
    e.all += sum;
    e.longest = std::max(e.longest, sum);
    e.widest = std::max(e.widest, end - begin);
  }
  std::iota(e.order.begin(), e.order.end(), std::int64_t{0});
  std::stable_sort(e.order.begin(), e.order.end(), [&](std::int64_t a, std::int64_t b) {
    return e.tokens[static_cast<std::size_t>(a)] > e.tokens[static_cast<std::size_t>(b)];
  });
  return e;
}

std::int64_t first_outside(std::int32_t const* x, std::int64_t n, std::int32_t low,
                           std::int32_t high) {
  // a piece has no branch per number, so that whole vectors are compared
  constexpr std::int64_t kPiece = 4096;
  for (std::int64_t begin = 0; begin < n; begin += kPiece) {
    std::int64_t const end = std::min(n, begin + kPiece);
    int outside = 0;  // as wide as a number; with bool, comparisons would not be vectorised
    for (std::int64_t i = begin; i < end; ++i) outside |= (x[i] < low) | (x[i] > high);
    if (!outside) continue;
    return std::find_if(x + begin, x + end, [=](auto v) { return v < low || v > high; }) - x;
  }
  return n;
}

void clear_untouched(std::int64_t* counts, std::uint8_t const* touched, std::int64_t rows,
                     std::int64_t stride) {
  for (std::int64_t r = 0; r < rows; ++r)
    if (!touched[r]) std::fill_n(counts + r * stride, stride, std::int64_t{0});
}

void run_documents(KernelTable const& k, DocumentsTask task, std::int64_t* word_counts,
                   std::int64_t* bucket, Workspace& work, int threads) {
  Scratch memory(work);
  std::int64_t const n = task.documents, rows = task.rows;
  Extent extent = extent_of(task);
  check_collected(extent, task.kept);
  check_draws(extent.all, task.sweeps);

  threads = static_cast<int>(std::clamp<std::int64_t>(n / kSlots, 1, threads));
  task.alone = threads == 1;
  task.last_topics = task.kept == 1 && !task.rao_blackwell;
  std::int64_t few = task.topics > kDenseTopics ? n : 0;  // documents over the topics they use
  if (few && task.last_topics && task.sweeps == 1) few = sparse_first(task, extent);
  bool const active = few > 0;
  auto const stride = static_cast<std::size_t>(task.stride), all = static_cast<std::size_t>(rows);
  auto const entries = static_cast<std::size_t>(extent.widest | 1), length = padded(extent.longest);
  bool const by_word = word_counts && (active || !task.last_topics);
  std::size_t const collected = (by_word ? entries : 1) * stride;
  std::size_t const columns = active ? entries * stride : 0,
                    share = active ? padded(extent.widest) : 0, maps = active ? stride : 0;
  std::size_t const per_slot =
      2 * length + stride + collected + kUniforms + columns + share + 2 * maps;
  double const most = static_cast<double>(task.most_alpha) + static_cast<double>(extent.longest);
  auto const running = all * static_cast<std::size_t>(segments_of(task.stride)) * kPad;
  float* const sums = active ? memory.get<float>(3, running) : nullptr;
  float const* const mass = check_rows_of(k, "phi", task.phi, active ? task.share : nullptr, rows,
                                          task.stride, most, memory, 0, threads, sums);
  if (word_counts) {
    task.word_counts = word_counts;
    task.touched = memory.get<std::uint8_t>(1, all);
    task.bucket = bucket ? bucket : memory.get<std::int64_t>(2, all);
    std::fill_n(task.touched, rows, std::uint8_t{0});
    std::fill_n(task.bucket, rows, std::int64_t{0});
  }
  auto const slots = static_cast<std::size_t>(slots_of(task.stride));
  std::vector<DocumentsScratch> scratch(static_cast<std::size_t>(threads));
  for (std::size_t t = 0; t < scratch.size(); ++t) {
    float* at = memory.get<float>(4 + 2 * t, slots * (per_slot + stride));
    auto const take = [&](std::size_t size) { return std::exchange(at, at + size); };
    auto const take_int = [&](std::size_t size) {
      return reinterpret_cast<std::int32_t*>(take(size));
    };
    for (std::size_t i = 0; i < slots; ++i)
      scratch[t].slot[i] = {take_int(length), take_int(length), take(stride),
                            take(collected),  take(kUniforms),  take(columns),
                            take(share),      take_int(maps),   take_int(maps)};
    scratch[t].sums = at;
    if (active && word_counts)
      scratch[t].waiting =
          waiting_counts(task, std::max(entries * stride, kMostWaiting), memory, 5 + 2 * t);
  }
  auto const run = [&](std::int64_t first, std::int64_t documents, bool over_few) {
    DocumentsTask part = task;
    std::int64_t next = 0;
    part.next = &next;
    part.order = extent.order.data() + first;
    part.documents = documents;
    part.mass = over_few ? mass : nullptr;
    part.running = over_few ? sums : nullptr;
    if (documents > 0)
      parallel_for(threads, threads, [&](std::int64_t item, int) {
        k.documents.gibbs(part, scratch[static_cast<std::size_t>(item)]);
      });
  };
  run(0, few, true);
  run(few, n - few, false);
  if (!word_counts) return;
  clear_untouched(word_counts, task.touched, rows, task.stride);
  if (!bucket)
    spread(k, {task.phi, nullptr, rows, task.stride}, nullptr, rows, task.share,
           memory.get<float>(0, all), task.bucket, word_counts, threads);
}

void run_expected(KernelTable const& k, ExpectedTask task, std::int64_t rows, Workspace& work,
                  int threads) {
  Scratch memory(work);
  Extent const extent = extent_of(task);
  check_draws(task.indptr[task.documents] + task.documents, task.passes, "passes");
  std::int64_t next = 0;
  task.order = extent.order.data();
  task.next = &next;
  threads = static_cast<int>(std::clamp<std::int64_t>(task.documents, 1, threads));
  float const* const last = task.alpha + task.stride;
  double const most = static_cast<double>(*std::max_element(task.alpha, last)) +
                      static_cast<double>(extent.longest);
  check_rows_of(k, "phi", task.phi, nullptr, rows, task.stride, most, memory, 0, threads);
  auto const stride = static_cast<std::size_t>(task.stride);
  std::size_t const shares = static_cast<std::size_t>(extent.widest | 1) * stride;
  std::vector<ExpectedScratch> scratch(static_cast<std::size_t>(threads));
  for (std::size_t t = 0; t < scratch.size(); ++t) {
    float* const at = memory.get<float>(1 + t, shares + stride);
    scratch[t] = {at, at + shares};
  }
  parallel_for(threads, threads, [&](std::int64_t item, int) {
    k.documents.expected(task, scratch[static_cast<std::size_t>(item)]);
  });
}

namespace {

/// Sum of values by pairwise summation, with the same result and accuracy as in NumPy.
double sum_in_pairs(double const* x, std::int64_t n) {
  if (n < 8) {
    double sum = 0.0;
    for (std::int64_t i = 0; i < n; ++i) sum += x[i];
    return sum;
  }
  if (n <= 128) {
    double r[8];
    for (int j = 0; j < 8; ++j) r[j] = x[j];
    std::int64_t i = 8;
    for (; i < n - n % 8; i += 8)
      for (int j = 0; j < 8; ++j) r[j] += x[i + j];
    double sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
    for (; i < n; ++i) sum += x[i];
    return sum;
  }
  std::int64_t const half = n / 2 - n / 2 % 8;
  return sum_in_pairs(x, half) + sum_in_pairs(x + half, n - half);
}

}  // namespace

void run_proportions(float const* counts, std::int64_t n, std::int64_t stride, std::int64_t topics,
                     double const* alpha, double* theta, int threads) {
  constexpr std::int64_t kChunk = 64;
  parallel_for((n + kChunk - 1) / kChunk, threads, [&](std::int64_t chunk, int) {
    for (std::int64_t d = chunk * kChunk; d < std::min(n, (chunk + 1) * kChunk); ++d) {
      double* const to = theta + d * topics;
      for (std::int64_t k = 0; k < topics; ++k)
        to[k] = static_cast<double>(counts[d * stride + k]) + alpha[k];
      double const sum = sum_in_pairs(to, topics);
      for (std::int64_t k = 0; k < topics; ++k) to[k] /= sum;
    }
  });
}

void run_spread(KernelTable const& k, FoundRows<float> const& phi, std::int64_t const* order,
                std::int64_t rows, float const* share, std::int64_t const* bucket,
                std::int64_t* word_counts, Workspace& work, int threads) {
  Scratch memory(work);
  float* const mass = memory.get<float>(0, static_cast<std::size_t>(rows));
  spread(k, phi, order, rows, share, mass, bucket, word_counts, threads);
}

void run_alpha(KernelTable const& k, AlphaTask const& task, std::int64_t documents,
               std::int64_t* tables, int threads) {
  constexpr std::int64_t kChunk = 64;
  auto const topics = static_cast<std::size_t>(task.topics);
  auto const all = static_cast<std::size_t>(std::max(1, threads));
  std::vector<std::int32_t> n(all * topics);
  std::vector<std::int64_t> found(all * topics, 0);
  parallel_for((documents + kChunk - 1) / kChunk, threads, [&](std::int64_t chunk, int thread) {
    std::size_t const own = static_cast<std::size_t>(thread) * topics;
    k.documents.alpha(task, chunk * kChunk, std::min(documents, (chunk + 1) * kChunk),
                      n.data() + own, found.data() + own);
  });
  for (std::size_t i = 0; i < found.size(); ++i) tables[i % topics] += found[i];
}

void run_add(std::int64_t const* parts, std::int64_t n, std::int64_t size, std::int64_t* out,
             int threads) {
  constexpr std::int64_t kChunk = 8192;  // the same place in all parts, which stays in the cache
  parallel_for((size + kChunk - 1) / kChunk, threads, [&](std::int64_t chunk, int) {
    std::int64_t const begin = chunk * kChunk, end = std::min(size, begin + kChunk);
    for (std::int64_t p = 0; p < n; ++p)
      for (std::int64_t i = begin; i < end; ++i) out[i] = sum_of(out[i], parts[p * size + i]);
  });
}

void run_add_rows(FoundRows<std::int64_t> const& found, std::int64_t const* order,
                  std::int64_t const* begin, std::int64_t rows, std::int64_t* out, int threads) {
  std::int64_t const stride = found.stride;
  constexpr std::int64_t kChunk = 64;
  parallel_for((rows + kChunk - 1) / kChunk, threads, [&](std::int64_t chunk, int) {
    for (std::int64_t r = chunk * kChunk; r < std::min(rows, (chunk + 1) * kChunk); ++r) {
      std::int64_t* const to = out + r * stride;
      std::int64_t i = begin[r];
      if (i + 1 < begin[r + 1]) {  // two at a time, because most rows have one or two
        std::int64_t const *const a = found.row(order[i]), *const b = found.row(order[i + 1]);
        for (std::int64_t k = 0; k < stride; ++k) to[k] = sum_of(a[k], b[k]);
        i += 2;
      } else {
        std::copy_n(found.row(order[i]), stride, to);
        ++i;
      }
      for (; i < begin[r + 1]; ++i) {
        std::int64_t const* const a = found.row(order[i]);
        for (std::int64_t k = 0; k < stride; ++k) to[k] = sum_of(to[k], a[k]);
      }
    }
  });
}

std::vector<std::int32_t> renumber(std::int32_t const* ids, std::int64_t n, std::int32_t* out) {
  std::int32_t const most = n ? *std::max_element(ids, ids + n) : -1;
  std::size_t const groups = static_cast<std::size_t>(std::int64_t{most} + 64) / 64;
  std::vector<std::uint64_t> seen(groups, 0);
  std::vector<std::int32_t> before(groups, 0);  // number of distinct ids in earlier groups
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
    k.documents.predictive(task, chunk * kChunk, std::min(documents, (chunk + 1) * kChunk),
                           theta.data() + thread * task.stride);
  });
}

}  // namespace sgmc
