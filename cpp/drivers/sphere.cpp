#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "sgmc/drivers.hpp"
#include "sgmc/parallel.hpp"

namespace sgmc {
namespace {

/// Calls fn(rows of a block, its sums) for all blocks of `n` rows; the `sums` values of a block
/// start at 0, and are added to `total` in the order of blocks.
void over_points(std::int64_t n, PointsTask const& shape, std::int64_t sums, double* total,
                 Scratch& memory, int threads, auto&& fn) {
  std::int64_t const blocks = (n + kPointBlock - 1) / kPointBlock;
  auto* const partial = memory.get<double>(0, static_cast<std::size_t>(blocks * sums));
  std::fill_n(partial, blocks * sums, 0.0);
  parallel_for(blocks, threads, [&](std::int64_t block, int) {
    PointsTask mine = shape;
    mine.begin = block * kPointBlock;
    mine.end = std::min(n, mine.begin + kPointBlock);
    fn(mine, partial + block * sums);
  });
  std::fill_n(total, sums, 0.0);
  for (std::int64_t block = 0; block < blocks; ++block)
    for (std::int64_t i = 0; i < sums; ++i) total[i] += partial[block * sums + i];
}

}  // namespace

void run_sphere_moments(KernelTable const& k, double const* x, double const* centre, std::int64_t n,
                        PointsTask const& shape, double* gram, double* along, Workspace& work,
                        int threads) {
  Scratch memory(work);
  std::int64_t const stride = shape.stride;
  std::vector<double> sums(static_cast<std::size_t>((stride + 1) * stride));
  over_points(n, shape, (stride + 1) * stride, sums.data(), memory, threads,
              [&](PointsTask const& mine, double* to) {
                k.sphere.moments(x, centre, mine, to, to + stride * stride);
              });
  for (std::int64_t i = 0; i < stride; ++i)
    for (std::int64_t j = 0; j < stride; ++j) {
      auto const upper = static_cast<std::size_t>(std::min(i, j) * stride + std::max(i, j));
      gram[i * stride + j] = sums[upper];
    }
  std::copy_n(sums.end() - stride, stride, along);
}

void run_sphere_force(KernelTable const& k, double* gradient, double const* x, std::int64_t n,
                      ForceTask const& task, double* v, double damp, double* squares,
                      Workspace& work, int threads) {
  Scratch memory(work);
  std::int64_t const stride = task.stride;
  std::vector<double> dots(static_cast<std::size_t>(stride));
  over_points(n, task, stride, dots.data(), memory, threads,
              [&](PointsTask const& mine, double* to) {
                ForceTask here = task;
                static_cast<PointsTask&>(here) = mine;
                k.sphere.force(gradient, x, here, to);
              });
  over_points(n, task, stride, squares, memory, threads, [&](PointsTask const& mine, double* to) {
    k.sphere.push(v, x, gradient, dots.data(), damp, mine, to);
  });
}

void run_sphere_drift(KernelTable const& k, double* x, double* v, std::int64_t n,
                      PointsTask const& shape, double length, double damp, double* squares,
                      Workspace& work, int threads) {
  Scratch memory(work);
  std::int64_t const stride = shape.stride;
  auto const size = static_cast<std::size_t>(stride);
  std::vector<double> cosine(size), along(size), across(size), sums(2 * size);
  for (std::size_t c = 0; c < size; ++c) {
    double sine = 0.0;
    k.sphere.arc(squares[c] * length * length, cosine[c], sine);
    along[c] = length * sine;
    across[c] = squares[c] * length * sine;
  }
  over_points(n, shape, 2 * stride, sums.data(), memory, threads,
              [&](PointsTask const& mine, double* to) {
                k.sphere.drift(x, v, cosine.data(), along.data(), across.data(), damp, mine, to,
                               to + stride);
              });
  std::vector<double> scale(size, 0.0), dots(size, 0.0);
  for (std::size_t c = 0; c < static_cast<std::size_t>(shape.topics); ++c) {
    scale[c] = 1.0 / std::sqrt(sums[c]);
    dots[c] = sums[size + c] * scale[c];
    if (!std::isfinite(scale[c]) || !std::isfinite(dots[c]))
      throw NotFinite("topic " + std::to_string(c) + " is not finite any more");
  }
  over_points(n, shape, stride, squares, memory, threads, [&](PointsTask const& mine, double* to) {
    k.sphere.correct(x, v, scale.data(), dots.data(), mine, to);
  });
}

void run_sphere_along(KernelTable const& k, double const* x, std::int64_t stride,
                      Directions const& of, double* along, int threads) {
  constexpr std::int64_t kChunk = 16;
  parallel_for((of.documents + kChunk - 1) / kChunk, threads, [&](std::int64_t chunk, int) {
    k.sphere.along(x, stride, of, chunk * kChunk, std::min(of.documents, (chunk + 1) * kChunk),
                   along);
  });
}

void run_sphere_gradient(KernelTable const& k, double const* x, double* gradient, std::int64_t n,
                         GradientTask task, Directions const& of, Workspace& work, int threads) {
  Scratch memory(work);
  auto const entries = static_cast<std::size_t>(of.indptr[of.documents]);
  auto* const ends = memory.get<std::int64_t>(0, static_cast<std::size_t>(n + 2));
  auto* const document = memory.get<std::int32_t>(1, entries);
  auto* const value = memory.get<double>(2, entries);
  std::fill_n(ends, n + 2, std::int64_t{0});
  for (std::size_t i = 0; i < entries; ++i) ++ends[of.indices[i] + 2];
  for (std::int64_t w = 0; w < n; ++w) ends[w + 2] += ends[w + 1];
  for (std::int64_t d = 0; d < of.documents; ++d)
    for (std::int64_t i = of.indptr[d]; i < of.indptr[d + 1]; ++i) {
      std::int64_t const to = ends[of.indices[i] + 1]++;
      document[to] = static_cast<std::int32_t>(d);
      value[to] = of.values[i];
    }
  task.entries = ends;
  task.document = document;
  task.value = value;
  parallel_for((n + kPointBlock - 1) / kPointBlock, threads, [&](std::int64_t block, int) {
    GradientTask mine = task;
    mine.begin = block * kPointBlock;
    mine.end = std::min(n, mine.begin + kPointBlock);
    k.sphere.gradient(x, gradient, mine);
  });
}

void run_sphere_halves(KernelTable const& k, double const* x, double* first, double const* other,
                       std::int64_t n, HalvesTask const& task, double* squares, Workspace& work,
                       int threads) {
  Scratch memory(work);
  auto const stride = static_cast<std::size_t>(task.stride);
  std::vector<double> sums(2 * stride);
  over_points(n, task, 2 * task.stride, sums.data(), memory, threads,
              [&](PointsTask const& mine, double* to) {
                HalvesTask here = task;
                static_cast<PointsTask&>(here) = mine;
                k.sphere.halves(x, first, other, here, to, to + stride);
              });
  for (std::size_t c = 0; c < stride; ++c)
    squares[c] = std::max(0.0, sums[c] - sums[stride + c] * sums[stride + c]);
}

void run_sphere_proportions(KernelTable const& k, ProportionsTask task, Workspace& work,
                            int threads) {
  Scratch memory(work);
  std::int64_t items = task.documents * task.topics;
  if (__builtin_mul_overflow(items, std::int64_t{task.leaps}, &items)) items = kMaxDraws + 1;
  check_draws(items, task.trajectories, "trajectories");
  std::int64_t const groups = (task.documents + kTogether - 1) / kTogether;
  threads = static_cast<int>(std::clamp<std::int64_t>(groups, 1, threads));
  auto const cells = static_cast<std::size_t>(task.topics * kTogether);
  std::vector<ProportionsScratch> scratch(static_cast<std::size_t>(threads));
  for (std::size_t t = 0; t < scratch.size(); ++t) {
    auto* places = memory.get<double>(2 * t + 1, ProportionsScratch::kPlaces * cells);
    for (double*& array : scratch[t].place) array = std::exchange(places, places + cells);
    auto* forces = memory.get<float>(2 * t + 2, ProportionsScratch::kForces * cells);
    for (float*& array : scratch[t].force) array = std::exchange(forces, forces + cells);
  }
  auto const all = static_cast<std::size_t>(task.stride * task.stride);
  auto* const rows = memory.get<float>(0, all);
  for (std::size_t i = 0; i < all; ++i) rows[i] = static_cast<float>(task.gram[i]);
  task.rows = rows;
  std::fill_n(task.accepted, task.documents, 0);
  std::fill_n(task.jumped, task.documents, 0.0);
  std::fill_n(task.samples, task.documents * task.kept * task.stride, 0.0f);
  parallel_for(groups, threads, [&](std::int64_t group, int thread) {
    k.sphere.proportions(task, scratch[static_cast<std::size_t>(thread)], group * kTogether,
                         std::min(task.documents, (group + 1) * kTogether));
  });
}

void run_sphere_evidence(KernelTable const& k, EvidenceTask const& task, std::int64_t documents,
                         double* outer, Workspace& work, int threads) {
  Scratch memory(work);
  // parts of the documents, as many as justify a matrix each; their number affects every result
  std::int64_t const cells = task.stride * task.stride;
  std::int64_t const size = std::max<std::int64_t>(kTogether, (documents + 255) / 256);
  std::int64_t const parts = (documents + size - 1) / size;
  auto* const partial = memory.get<double>(0, static_cast<std::size_t>(parts * cells));
  auto* const mixed = memory.get<double>(1, static_cast<std::size_t>(threads * task.stride));
  std::fill_n(partial, parts * cells, 0.0);
  parallel_for(parts, threads, [&](std::int64_t part, int thread) {
    k.sphere.evidence(task, part * size, std::min(documents, (part + 1) * size),
                      mixed + thread * task.stride, partial + part * cells);
  });
  std::fill_n(outer, cells, 0.0);
  for (std::int64_t part = 0; part < parts; ++part)
    for (std::int64_t i = 0; i < cells; ++i) outer[i] += partial[part * cells + i];
}

void run_sphere_cosines(KernelTable const& k, CosinesTask task, std::int64_t documents,
                        Workspace& work, int threads) {
  Scratch memory(work);
  constexpr std::int64_t kChunk = 64;
  std::vector<double> norms(static_cast<std::size_t>(task.n));
  for (std::int64_t i = 0; i < task.n; ++i) {
    double const* const theta = task.theta + i * task.stride;
    double square = 0.0;
    for (std::int32_t a = 0; a < task.topics; ++a)
      for (std::int32_t b = 0; b < task.topics; ++b)
        square += theta[a] * task.gram[a * task.stride + b] * theta[b];
    norms[static_cast<std::size_t>(i)] = std::max(kLeastNorm, std::sqrt(square));
  }
  task.norms = norms.data();
  auto* const scores = memory.get<double>(0, static_cast<std::size_t>(threads * task.n));
  parallel_for((documents + kChunk - 1) / kChunk, threads, [&](std::int64_t chunk, int thread) {
    k.sphere.cosines(task, chunk * kChunk, std::min(documents, (chunk + 1) * kChunk),
                     scores + thread * task.n);
  });
}

}  // namespace sgmc
