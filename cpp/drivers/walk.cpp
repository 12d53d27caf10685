#include <algorithm>
#include <cmath>
#include <vector>

#include "sgmc/drivers.hpp"
#include "sgmc/parallel.hpp"

namespace sgmc {
namespace {

/// Arrays that kernels read in addition to a walk: the precision, the conversion of b to phi, and
/// tokens.
struct Walk {
  std::vector<float> diagonal, shift, scale, total;
  WalkTask task;

  Walk(WalkTask const& given, WalkPrior const& prior, double const* log_sums) : task(given) {
    std::int64_t const slices = task.slices, stride = task.stride;
    double const tie = 1.0 / (prior.drift * prior.drift);
    task.tie = slices > 1 ? static_cast<float>(tie) : 0.0f;
    for (std::int64_t t = 0; t < slices; ++t) {
      double const own = t == 0 ? 1.0 / (prior.spread * prior.spread) : tie;
      diagonal.push_back(static_cast<float>(own + (t + 1 < slices ? tie : 0.0)));
    }
    shift.resize(static_cast<std::size_t>(slices * stride), 0.0f);
    scale.resize(shift.size(), 0.0f);
    for (std::int64_t t = 0; t < slices; ++t)
      for (std::int64_t c = 0; c < task.topics; ++c) {
        auto const at = static_cast<std::size_t>(t * stride + c);
        shift[at] = static_cast<float>(log_sums[at]);  // the rounding error goes to the scale
        scale[at] = static_cast<float>(std::exp(static_cast<double>(shift[at]) - log_sums[at]));
      }
    std::vector<std::int64_t> tokens(shift.size(), 0);  // exact, so the order does not matter
    for (std::int64_t i = 0; i < task.n_touched; ++i) {
      auto const to = static_cast<std::size_t>(task.touched[i] % slices * stride);
      for (std::int64_t c = 0; c < stride; ++c) {
        std::int64_t& all = tokens[to + static_cast<std::size_t>(c)];
        all = sum_of(all, task.counts[i * stride + c]);
      }
    }
    total.reserve(tokens.size());
    for (std::int64_t const n : tokens)
      total.push_back(static_cast<float>(static_cast<double>(n) * task.factor));
    task.total = total.data();
    task.diagonal = diagonal.data();
    task.shift = shift.data();
    task.scale = scale.data();
  }

  /// Turns sums of exp(b - shift), (slices, stride), into logs of the sums of exp(b).
  void logarithms(double const* sums, double* log_sums) const {
    for (std::int64_t t = 0; t < task.slices; ++t)
      for (std::int64_t c = 0; c < task.topics; ++c) {
        auto const at = static_cast<std::size_t>(t * task.stride + c);
        log_sums[at] = std::log(sums[at]) + static_cast<double>(shift[at]);
      }
  }
};

void check_walk(WalkTask const& task, double const* log_sums) {
  for (std::int64_t t = 0; t < task.slices; ++t)
    check_sums("log_sums", log_sums + t * task.stride, task.topics);
}

std::vector<WalkScratch> scratch_of(WalkTask const& task, Scratch& memory, int threads) {
  std::vector<WalkScratch> found(static_cast<std::size_t>(threads));
  auto const cells = static_cast<std::size_t>(task.slices * kPad);
  for (std::size_t i = 0; i < found.size(); ++i)
    found[i] = {memory.get<float>(3 * i + 1, WalkScratch::kValues * cells),
                memory.get<double>(3 * i + 2, cells),
                memory.get<std::int64_t>(3 * i + 3, static_cast<std::size_t>(task.slices))};
  return found;
}

constexpr std::int64_t kRead = 256;  // number of rows read together

}  // namespace

void run_walk_step(KernelTable const& k, float* b, float* curvature, WalkTask const& given,
                   WalkPrior const& prior, WalkMove const& move, double* log_sums, Workspace& work,
                   int threads) {
  Scratch memory(work);
  check_walk(given, log_sums);
  Walk const walk(given, prior, log_sums);
  std::int64_t const blocks = (given.words + kRowBlock - 1) / kRowBlock;
  std::int64_t const cells = given.slices * given.stride;
  auto* const partial = memory.get<double>(0, static_cast<std::size_t>(blocks * cells));
  auto const scratch = scratch_of(given, memory, threads);
  parallel_for(blocks, threads, [&](std::int64_t block, int thread) {
    std::int64_t const begin = block * kRowBlock;
    k.walk.step(b, curvature, walk.task, move, begin, std::min(given.words, begin + kRowBlock),
                scratch[static_cast<std::size_t>(thread)], partial + block * cells);
  });
  for (std::int64_t block = 1; block < blocks; ++block)
    for (std::int64_t i = 0; i < cells; ++i) partial[i] += partial[block * cells + i];
  walk.logarithms(partial, log_sums);
}

void run_walk_accept(KernelTable const& k, float* b, WalkTask const& given, WalkPrior const& prior,
                     double* log_sums, std::int64_t* accepted, Workspace& work, int threads) {
  Scratch memory(work);
  check_walk(given, log_sums);
  Walk const walk(given, prior, log_sums);
  auto* const sums = memory.get<double>(0, static_cast<std::size_t>(given.slices * given.stride));
  auto const scratch = scratch_of(given, memory, threads);
  parallel_for(given.stride / kPad, threads, [&](std::int64_t block, int thread) {
    k.walk.accept(b, walk.task, block * kPad, scratch[static_cast<std::size_t>(thread)], sums,
                  accepted);
  });
  walk.logarithms(sums, log_sums);
}

void run_walk_phi(KernelTable const& k, float const* b, std::int32_t const* rows, std::int64_t n,
                  WalkTask const& given, double const* log_sums, float* out, int threads) {
  Walk const walk(given, {1.0, 1.0}, log_sums);  // the prior is not read
  parallel_for((n + kRead - 1) / kRead, threads, [&](std::int64_t chunk, int) {
    k.walk.phi(b, rows, chunk * kRead, std::min(n, (chunk + 1) * kRead), out, walk.task);
  });
}

}  // namespace sgmc
