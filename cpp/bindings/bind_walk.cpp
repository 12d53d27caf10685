#include <cmath>

#include "bindings.hpp"

namespace sgmc::bindings {
namespace {

/// A walk of the rows of b over the slices of log_sums.
WalkTask walk_of(Array<float> const& b, Array<double> const& log_sums, std::int32_t topics) {
  check_shape(b, "b", {-1, -1});
  check_padding("b", b.shape(1), topics);
  check_shape(log_sums, "log_sums", {-1, b.shape(1)});
  WalkTask task{};
  task.slices = log_sums.shape(0);
  task.stride = b.shape(1);
  task.topics = topics;
  if (task.slices < 1 || b.shape(0) < 1 || b.shape(0) % task.slices)
    throw py::value_error("b: must have a row for each word and slice");
  task.words = b.shape(0) / task.slices;
  return task;
}

/// Adds the sufficient statistics of such a walk.
void add_counts(WalkTask& task, Array<std::int32_t> const& rows, Array<std::int64_t> const& counts,
                double factor) {
  check_shape(rows, "rows", {-1});
  check_shape(counts, "counts", {rows.shape(0), task.stride});
  std::int32_t const* const at = rows.data();
  for (std::int64_t i = 0; i < rows.shape(0); ++i)
    if (at[i] < 0 || at[i] >= task.words * task.slices || (i && at[i] <= at[i - 1]))
      throw py::value_error("rows: must be strictly increasing rows of b");
  if (!(factor >= 0.0) || !std::isfinite(factor))
    throw py::value_error("factor: must be finite, >= 0");
  task.touched = at;
  task.n_touched = rows.shape(0);
  task.counts = counts.data();
  task.factor = factor;
}

WalkPrior prior_of(double drift, double spread) {
  check_positive("drift", drift);
  check_positive("spread", spread);
  return {drift, spread};
}

}  // namespace

void bind_walk(py::module_& m) {
  m.def(
      "walk_step",
      [](Array<float> b, Array<float> curvature, Array<double> log_sums, std::int32_t topics,
         Array<std::int32_t> const& rows, Array<std::int64_t> const& counts, double factor,
         double drift, double spread, double h, double weight, bool warm, std::uint64_t seed,
         std::uint32_t chain, std::uint64_t step, std::uint32_t stream, Workspace& work,
         int threads) {
        WalkTask task = walk_of(b, log_sums, topics);
        check_threads(threads);
        check_shape(curvature, "curvature", {b.shape(0), b.shape(1)});
        add_counts(task, rows, counts, factor);
        WalkPrior const prior = prior_of(drift, spread);
        if (!(h > 0.0)) throw py::value_error("h: must be positive");
        if (!(weight >= 0.0 && weight <= 1.0)) throw py::value_error("weight: must be in [0, 1]");
        task.address = address(seed, chain, step, stream);
        WalkMove const move{static_cast<float>(-std::expm1(-h)),
                            warm ? 0.0f : static_cast<float>(std::sqrt(-std::expm1(-2.0 * h))),
                            static_cast<float>(weight), warm};
        float *const data = b.mutable_data(), *const mean = curvature.mutable_data();
        double* const to = log_sums.mutable_data();
        without_lock([&] {
          run_walk_step(*active_kernels(), data, mean, task, prior, move, to, work, threads);
        });
      },
      py::kw_only(), py::arg("b").noconvert(), py::arg("curvature").noconvert(),
      py::arg("log_sums").noconvert(), py::arg("topics"), py::arg("rows"), py::arg("counts"),
      py::arg("factor"), py::arg("drift"), py::arg("spread"), py::arg("h"), py::arg("weight"),
      py::arg("warm"), py::arg("seed"), py::arg("chain"), py::arg("step"), py::arg("stream"),
      py::arg("work"), py::arg("threads"));
  m.def(
      "walk_accept",
      [](Array<float> b, Array<double> log_sums, std::int32_t topics,
         Array<std::int32_t> const& rows, Array<std::int64_t> const& counts, double factor,
         double drift, double spread, double h, std::uint64_t seed, std::uint32_t chain,
         std::uint64_t step, std::uint32_t stream, Workspace& work, int threads) {
        WalkTask task = walk_of(b, log_sums, topics);
        check_threads(threads);
        add_counts(task, rows, counts, factor);
        WalkPrior const prior = prior_of(drift, spread);
        if (!(h > 0.0)) throw py::value_error("h: must be positive");
        task.h = h;
        task.address = address(seed, chain, step, stream);
        Array<std::int64_t> accepted(task.stride);
        float* const data = b.mutable_data();
        double* const to = log_sums.mutable_data();
        std::int64_t* const found = accepted.mutable_data();
        without_lock([&] {
          run_walk_accept(*active_kernels(), data, task, prior, to, found, work, threads);
        });
        return accepted;
      },
      py::kw_only(), py::arg("b").noconvert(), py::arg("log_sums").noconvert(), py::arg("topics"),
      py::arg("rows"), py::arg("counts"), py::arg("factor"), py::arg("drift"), py::arg("spread"),
      py::arg("h"), py::arg("seed"), py::arg("chain"), py::arg("step"), py::arg("stream"),
      py::arg("work"), py::arg("threads"));
  m.def(
      "walk_phi",
      [](Array<float> const& b, Array<double> const& log_sums, std::int32_t topics,
         std::optional<Array<std::int32_t>> rows, Workspace* work, int threads) {
        WalkTask const task = walk_of(b, log_sums, topics);
        check_threads(threads);
        if (rows) check_shape(*rows, "rows", {-1});
        std::int64_t const n = rows ? rows->shape(0) : b.shape(0);
        if (rows)
          for (std::int64_t i = 0; i < n; ++i)
            if (rows->data()[i] < 0 || rows->data()[i] >= b.shape(0))
              throw py::value_error("rows: not rows of b");
        auto out =
            work ? lent<float>(*work, n, task.stride) : aligned<float>({n, task.stride}, false);
        float* const to = out.mutable_data();
        std::int32_t const* const from = rows ? rows->data() : nullptr;
        without_lock([&] {
          run_walk_phi(*active_kernels(), b.data(), from, n, task, log_sums.data(), to, threads);
        });
        return out;
      },
      py::kw_only(), py::arg("b"), py::arg("log_sums"), py::arg("topics"), py::arg("rows"),
      py::arg("work") = nullptr, py::arg("threads"));
}

}  // namespace sgmc::bindings
