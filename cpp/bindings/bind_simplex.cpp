#include <cmath>
#include <cstdio>
#include <limits>

#include "bindings.hpp"

namespace sgmc::bindings {
namespace {

void check_state(Array<float> const& g, Array<double> const& sums, std::int32_t topics) {
  check_shape(g, "g", {-1, -1});
  check_shape(sums, "sums", {g.shape(1)});
  check_padding("g", g.shape(1), topics);
}

/// Checks the rows of a block of v words: strictly increasing, so that no two threads use the same
/// row.
void check_rows(Array<std::int32_t> const& rows, std::int64_t v) {
  check_shape(rows, "rows", {-1});
  std::int32_t const* const at = rows.data();
  for (std::int64_t i = 0; i < rows.shape(0); ++i)
    if (at[i] < 0 || at[i] >= v || (i && at[i] <= at[i - 1]))
      throw py::value_error("rows: must be strictly increasing rows of g");
}

void check_lengths(Array<double> const& lengths, std::int64_t n) {
  check_shape(lengths, "lengths", {n});
  for (std::int64_t i = 0; i < n; ++i)
    if (!(lengths.data()[i] >= 0.0)) throw py::value_error("lengths: must be >= 0");
}

/// Checks that float32 can follow steps of CIR rows; a step of 0 leaves a listed row unchanged.
void check_step(RowKernel kernel, double h) {
  if (kernel != RowKernel::scir && kernel != RowKernel::scir_natural) return;
  if (h != 0.0 && h < kLeastStep) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", h);
    throw NotFinite("h: steps of " + std::string(text) + " are shorter than 1e-20");
  }
}

/// Arguments of a step of any row kernel; `rows` are the rows with counts.
RowsTask step_task(Array<float> const& g, std::int32_t topics, float eta,
                   Array<std::int32_t> const& rows, Array<std::int64_t> const* counts,
                   double factor, Purpose purpose, Address const& address) {
  if (counts) check_shape(*counts, "counts", {rows.shape(0), g.shape(1)});
  check_positive("eta", eta);
  if (!(factor >= 0.0) || !std::isfinite(factor))
    throw py::value_error("factor: must be finite, >= 0");
  RowsTask task{};
  task.stride = g.shape(1);
  task.topics = topics;
  task.eta = eta;
  task.counts = counts ? counts->data() : nullptr;
  task.touched = rows.data();
  task.n_touched = counts ? rows.shape(0) : 0;
  task.factor = factor;
  task.purpose = purpose;
  task.address = address;
  return task;
}

/// The rows that this process steps if several processes divide them; their contribution to the
/// topic sums goes to `added`.
std::optional<UnitShare> share_of(std::optional<Array<double>>& added, std::int64_t rank,
                                  std::int64_t size, std::int64_t v, std::int64_t stride) {
  if (!added) return std::nullopt;
  check_shape(*added, "added", {(v + kRowUnit - 1) / kRowUnit, stride});
  if (rank < 0 || rank >= size) throw py::value_error("rank, size: must be one of so many");
  return UnitShare{rank, size, added->mutable_data()};
}

/// One step of all rows by h, in place on g and sums; `rows` have counts. With `added`, only the
/// rows of one process are stepped (share_of), and `totals` are the sums of all counts. `finish`
/// adds the kernel's own arguments to the task.
template <class F>
void step_all(RowKernel kernel, Purpose purpose, Array<float>& g, Array<double>& sums,
              std::int32_t topics, float eta, Array<std::int32_t> const& rows,
              Array<std::int64_t> const& counts, double factor, double h, Address const& where,
              Workspace& work, int threads, std::optional<Array<std::int64_t>> const& totals,
              std::optional<Array<double>>& added, std::int64_t rank, std::int64_t size,
              F&& finish) {
  check_state(g, sums, topics);
  check_threads(threads);
  check_rows(rows, g.shape(0));
  if (!(h > 0.0 || (h == 0.0 && kernel == RowKernel::relax)))
    throw py::value_error("h: must be positive");
  check_step(kernel, h);
  if (totals) check_shape(*totals, "totals", {g.shape(1)});
  auto const share = share_of(added, rank, size, g.shape(0), g.shape(1));
  RowsTask task = step_task(g, topics, eta, rows, &counts, factor, purpose, where);
  task.h = h;
  finish(task);
  float* const data = g.mutable_data();
  double* const to = sums.mutable_data();
  std::int64_t const v = g.shape(0);
  std::int64_t const* const of_all = totals ? totals->data() : nullptr;
  without_lock([&] {
    run_rows(*active_kernels(), kernel, data, v, task, to, of_all, work, threads,
             share ? &*share : nullptr);
  });
}

/// Defines a kernel whose state consists of g and sums only.
void def_step(py::module_& m, char const* name, RowKernel kernel, Purpose purpose) {
  m.def(
      name,
      [=](Array<float> g, Array<double> sums, std::int32_t topics, float eta,
          Array<std::int32_t> const& rows, Array<std::int64_t> const& counts, double factor,
          double h, std::uint64_t seed, std::uint32_t chain, std::uint64_t step,
          std::uint32_t stream, Workspace& work, int threads,
          std::optional<Array<std::int64_t>> const& totals, std::optional<Array<double>> added,
          std::int64_t rank, std::int64_t size) {
        step_all(kernel, purpose, g, sums, topics, eta, rows, counts, factor, h,
                 address(seed, chain, step, stream), work, threads, totals, added, rank, size,
                 [](RowsTask&) {});
      },
      py::kw_only(), py::arg("g").noconvert(), py::arg("sums").noconvert(), py::arg("topics"),
      py::arg("eta"), py::arg("rows"), py::arg("counts"), py::arg("factor"), py::arg("h"),
      py::arg("seed"), py::arg("chain"), py::arg("step"), py::arg("stream"), py::arg("work"),
      py::arg("threads"), py::arg("totals") = py::none(), py::arg("added").noconvert() = py::none(),
      py::arg("rank") = 0, py::arg("size") = 1);
}

/// SGRHMC: momenta r of the shape of g, and the rate of the prior.
void def_sgrhmc(py::module_& m) {
  m.def(
      "simplex_sgrhmc",
      [](Array<float> g, Array<double> sums, Array<float> r, std::int32_t topics, float eta,
         double rate, Array<std::int32_t> const& rows, Array<std::int64_t> const& counts,
         double factor, double h, std::uint64_t seed, std::uint32_t chain, std::uint64_t step,
         std::uint32_t stream, Workspace& work, int threads,
         std::optional<Array<std::int64_t>> const& totals, std::optional<Array<double>> added,
         std::int64_t rank, std::int64_t size) {
        check_shape(g, "g", {-1, -1});
        check_shape(r, "r", {g.shape(0), g.shape(1)});
        check_positive("rate", static_cast<float>(rate));
        step_all(RowKernel::sgrhmc, Purpose::sgrhmc_noise, g, sums, topics, eta, rows, counts,
                 factor, h, address(seed, chain, step, stream), work, threads, totals, added, rank,
                 size, [&](RowsTask& task) {
                   task.momenta = r.mutable_data();
                   task.prior_rate = rate;
                 });
      },
      py::kw_only(), py::arg("g").noconvert(), py::arg("sums").noconvert(),
      py::arg("r").noconvert(), py::arg("topics"), py::arg("eta"), py::arg("rate"), py::arg("rows"),
      py::arg("counts"), py::arg("factor"), py::arg("h"), py::arg("seed"), py::arg("chain"),
      py::arg("step"), py::arg("stream"), py::arg("work"), py::arg("threads"),
      py::arg("totals") = py::none(), py::arg("added").noconvert() = py::none(),
      py::arg("rank") = 0, py::arg("size") = 1);
}

/// One step of the listed rows, each by its own length (0 leaves it unchanged), with or without
/// counts, in place on g; sums are corrected by the change beyond expectation. `packed`: g has only
/// the listed rows. With `added`, the list has rows of one process only (share_of), and the rows of
/// a `packed` list belong to this process.
void def_step_of_rows(py::module_& m, char const* name, RowKernel kernel) {
  m.def(
      name,
      [=](Array<float> g, Array<double> sums, std::int32_t topics, float eta,
          Array<std::int32_t> const& rows, Array<double> const& lengths,
          std::optional<Array<std::int64_t>> const& counts, double factor, bool packed,
          Purpose purpose, std::uint64_t seed, std::uint32_t chain, std::uint64_t step,
          std::uint32_t stream, Workspace& work, int threads, std::optional<Array<double>> added,
          std::int64_t rank, std::int64_t size) {
        check_state(g, sums, topics);
        check_threads(threads);
        check_shape(rows, "rows", {-1});
        std::int64_t const n = rows.shape(0);
        auto const share = share_of(added, rank, size, g.shape(0), g.shape(1));
        for (std::int64_t i = 0; share && i < n; ++i)
          if (rows.data()[i] / kRowUnit % size != rank)
            throw py::value_error("rows: must be those of the process");
        check_rows(rows, packed ? std::numeric_limits<std::int32_t>::max() : g.shape(0));
        if (packed) check_shape(g, "g", {n, -1});
        check_lengths(lengths, n);
        for (std::int64_t i = 0; i < n; ++i) check_step(kernel, lengths.data()[i]);
        if (purpose != Purpose::scir_pass && purpose != Purpose::catch_up_pass &&
            purpose != Purpose::look_pass)
          throw py::value_error("purpose: wanted scir_pass, catch_up_pass or look_pass");
        RowsTask task = step_task(g, topics, eta, rows, counts ? &*counts : nullptr, factor,
                                  purpose, address(seed, chain, step, stream));
        task.rows = rows.data();
        task.lengths = lengths.data();
        task.packed = packed;
        float* const data = g.mutable_data();
        double* const to = sums.mutable_data();
        without_lock([&] {
          if (n > 0)
            run_rows(*active_kernels(), kernel, data, n, task, to, nullptr, work, threads,
                     share ? &*share : nullptr);
        });
      },
      py::kw_only(), py::arg("g").noconvert(), py::arg("sums").noconvert(), py::arg("topics"),
      py::arg("eta"), py::arg("rows"), py::arg("lengths"), py::arg("counts"), py::arg("factor"),
      py::arg("packed"), py::arg("purpose"), py::arg("seed"), py::arg("chain"), py::arg("step"),
      py::arg("stream"), py::arg("work"), py::arg("threads"),
      py::arg("added").noconvert() = py::none(), py::arg("rank") = 0, py::arg("size") = 1);
}

/// Start of a chain, in place on g and sums; with `added`, only of one process's rows (share_of).
void def_start(py::module_& m, char const* name, decltype(&SimplexKernels::start) kernel,
               char const* parameter, float least) {
  m.def(
      name,
      [=](Array<float> g, Array<double> sums, std::int32_t topics, float start, std::uint64_t seed,
          std::uint32_t chain, std::uint32_t stream, Workspace& work, int threads,
          std::optional<Array<double>> added, std::int64_t rank, std::int64_t size) {
        check_state(g, sums, topics);
        check_threads(threads);
        check_positive(parameter, start);
        auto const share = share_of(added, rank, size, g.shape(0), g.shape(1));
        if (start < least)
          throw py::value_error(std::string(parameter) + ": must be at least " +
                                std::to_string(least));
        RowsTask task{};
        task.stride = g.shape(1);
        task.topics = topics;
        task.purpose = Purpose::init;
        task.address = address(seed, chain, 0, stream);
        run_start(active_kernels()->simplex.*kernel, g.mutable_data(), g.shape(0), start, task,
                  sums.mutable_data(), work, threads, share ? &*share : nullptr);
      },
      py::kw_only(), py::arg("g").noconvert(), py::arg("sums").noconvert(), py::arg("topics"),
      py::arg(parameter), py::arg("seed"), py::arg("chain"), py::arg("stream"), py::arg("work"),
      py::arg("threads"), py::arg("added").noconvert() = py::none(), py::arg("rank") = 0,
      py::arg("size") = 1);
}

/// The rows that documents read, or all rows if None; written to `out`, or to the workspace's
/// memory if one is given.
void def_read(py::module_& m, char const* name, decltype(&run_phi) run) {
  m.def(
      name,
      [=](Array<float> const& g, Array<double> const& sums, std::int32_t topics,
          std::optional<Array<std::int32_t>> rows, Workspace* work, int threads,
          std::optional<Array<float>> out) {
        check_state(g, sums, topics);
        check_threads(threads);
        if (rows) check_shape(*rows, "rows", {-1});
        std::int64_t const n = rows ? rows->shape(0) : g.shape(0), stride = g.shape(1);
        if (out) check_shape(*out, "out", {n, stride});
        if (rows)
          for (std::int64_t i = 0; i < n; ++i)
            if (rows->data()[i] < 0 || rows->data()[i] >= g.shape(0))
              throw py::value_error("rows: not rows of g");
        if (!out) out = work ? lent<float>(*work, n, stride) : aligned<float>({n, stride}, false);
        float* const to = out->mutable_data();
        std::int32_t const* const from = rows ? rows->data() : nullptr;
        without_lock([&] {
          run(*active_kernels(), g.data(), sums.data(), from, n, stride, topics, to, threads);
        });
        return *out;
      },
      py::kw_only(), py::arg("g"), py::arg("sums"), py::arg("topics"), py::arg("rows"),
      py::arg("work") = nullptr, py::arg("threads"), py::arg("out").noconvert() = py::none());
}

}  // namespace

void bind_simplex(py::module_& m) {
  m.attr("ROW_UNIT") = kRowUnit;
  m.def(
      "simplex_add_units",
      [](Array<double> sums, Array<double> const& added, bool anew) {
        check_shape(added, "added", {-1, -1});
        check_shape(sums, "sums", {added.shape(1)});
        add_units(added.data(), added.shape(0), added.shape(1), anew, sums.mutable_data());
      },
      py::kw_only(), py::arg("sums").noconvert(), py::arg("added"), py::arg("anew"));
  def_step(m, "simplex_scir", RowKernel::scir, Purpose::scir_pass);
  def_step(m, "simplex_scir_natural", RowKernel::scir_natural, Purpose::scir_pass);
  def_step(m, "simplex_sgrld", RowKernel::sgrld, Purpose::sgrld_noise);
  def_sgrhmc(m);
  def_step(m, "simplex_relax", RowKernel::relax, Purpose{});  // draws nothing
  def_step_of_rows(m, "simplex_scir_rows", RowKernel::scir);
  def_step_of_rows(m, "simplex_relax_rows", RowKernel::relax);
  m.def(
      "simplex_tlasgr",
      [](Array<float> g, Array<double> sums, std::int32_t topics, float eta,
         Array<std::int32_t> const& rows, Array<std::int64_t> const& counts, double factor,
         Array<double> const& steps, Array<double> const& totals, bool clip, std::uint64_t seed,
         std::uint32_t chain, std::uint64_t step, std::uint32_t stream, Workspace& work,
         int threads) {
        check_state(g, sums, topics);
        check_threads(threads);
        check_rows(rows, g.shape(0));
        check_shape(steps, "steps", {topics});
        check_shape(totals, "totals", {topics});
        for (std::int64_t k = 0; k < topics; ++k)
          if (!(steps.data()[k] > 0.0)) throw py::value_error("steps: must be positive");
        RowsTask const task = step_task(g, topics, eta, rows, &counts, factor,
                                        Purpose::tlasgr_noise, address(seed, chain, step, stream));
        float* const data = g.mutable_data();
        double* const to = sums.mutable_data();
        without_lock([&] {
          run_tlasgr(*active_kernels(), data, g.shape(0), task, to, steps.data(), totals.data(),
                     clip, work, threads);
        });
      },
      py::kw_only(), py::arg("g").noconvert(), py::arg("sums").noconvert(), py::arg("topics"),
      py::arg("eta"), py::arg("rows"), py::arg("counts"), py::arg("factor"), py::arg("steps"),
      py::arg("totals"), py::arg("clip"), py::arg("seed"), py::arg("chain"), py::arg("step"),
      py::arg("stream"), py::arg("work"), py::arg("threads"));
  m.def(
      "simplex_smld",
      [](Array<float> y, Array<double> log_sums, std::int32_t topics, float eta,
         Array<std::int32_t> const& rows, Array<std::int64_t> const& counts, double factor,
         double h, Array<double> const& totals, bool approximate, std::uint64_t seed,
         std::uint32_t chain, std::uint64_t step, std::uint32_t stream, Workspace& work,
         int threads) {
        check_state(y, log_sums, topics);
        check_threads(threads);
        check_rows(rows, y.shape(0));
        check_shape(totals, "totals", {topics});
        if (!(h > 0.0)) throw py::value_error("h: must be positive");
        RowsTask task = step_task(y, topics, eta, rows, &counts, factor, Purpose::smld_noise,
                                  address(seed, chain, step, stream));
        task.h = h;
        float* const data = y.mutable_data();
        double* const to = log_sums.mutable_data();
        without_lock([&] {
          run_smld(*active_kernels(), data, y.shape(0), task, to, totals.data(), approximate, work,
                   threads);
        });
      },
      py::kw_only(), py::arg("y").noconvert(), py::arg("log_sums").noconvert(), py::arg("topics"),
      py::arg("eta"), py::arg("rows"), py::arg("counts"), py::arg("factor"), py::arg("h"),
      py::arg("totals"), py::arg("approximate"), py::arg("seed"), py::arg("chain"), py::arg("step"),
      py::arg("stream"), py::arg("work"), py::arg("threads"));
  m.def(
      "simplex_smld_phi",
      [](Array<float> const& y, Array<double> const& log_sums, std::int32_t topics,
         std::optional<Array<std::int32_t>> rows, bool approximate, Workspace* work, int threads) {
        check_state(y, log_sums, topics);
        check_threads(threads);
        if (rows) check_shape(*rows, "rows", {-1});
        std::int64_t const n = rows ? rows->shape(0) : y.shape(0), stride = y.shape(1);
        if (rows)
          for (std::int64_t i = 0; i < n; ++i)
            if (rows->data()[i] < 0 || rows->data()[i] >= y.shape(0))
              throw py::value_error("rows: not rows of y");
        auto out = work ? lent<float>(*work, n, stride) : aligned<float>({n, stride}, false);
        float* const to = out.mutable_data();
        std::int32_t const* const from = rows ? rows->data() : nullptr;
        without_lock([&] {
          run_smld_phi(*active_kernels(), y.data(), log_sums.data(), from, n, stride, topics,
                       approximate, to, threads);
        });
        return out;
      },
      py::kw_only(), py::arg("y"), py::arg("log_sums"), py::arg("topics"), py::arg("rows"),
      py::arg("approximate"), py::arg("work") = nullptr, py::arg("threads"));
  def_start(m, "simplex_start", &SimplexKernels::start, "scale", 0.0f);
  def_start(m, "dirichlet_start", &SimplexKernels::dirichlet_start, "shape", 1.0f);
  def_read(m, "simplex_phi", run_phi);
  def_read(m, "dirichlet_weights", run_dirichlet_weights);
  m.def(
      "simplex_add_phi",
      [](Array<double> total, Array<float> const& g, Array<double> const& sums, std::int32_t topics,
         float eta, std::optional<Array<double>> lengths, int threads) {
        check_state(g, sums, topics);
        check_threads(threads);
        std::int64_t const n = g.shape(0), stride = g.shape(1);
        check_shape(total, "total", {n, stride});
        if (lengths) check_lengths(*lengths, n);
        double* const to = total.mutable_data();
        double const* const from = lengths ? lengths->data() : nullptr;
        without_lock([&] {
          run_add_phi(*active_kernels(), g.data(), sums.data(), from, eta, n, stride, topics, to,
                      threads);
        });
      },
      py::kw_only(), py::arg("total").noconvert(), py::arg("g"), py::arg("sums"), py::arg("topics"),
      py::arg("eta"), py::arg("lengths"), py::arg("threads"));
  m.def(
      "simplex_scir_log",
      [](Array<double> log_g, Array<double> const& shape, double h,
         std::optional<Array<double>> const& kappa, std::uint64_t seed, std::uint32_t chain,
         std::uint64_t step, std::uint32_t stream, int threads) {
        check_shape(log_g, "log_g", {-1, -1});
        check_threads(threads);
        check_shape(shape, "shape", {log_g.shape(0), log_g.shape(1)});
        for (std::int64_t i = 0; i < shape.size(); ++i)
          if (!(shape.data()[i] > 0.0) || !std::isfinite(shape.data()[i]))
            throw py::value_error("shape: must be positive and finite");
        if (!(h > 0.0)) throw py::value_error("h: must be positive");
        if (kappa) check_shape(*kappa, "kappa", {log_g.shape(1)});
        for (std::int64_t k = 0; kappa && k < kappa->size(); ++k)
          if (!(kappa->data()[k] > 0.0) || !std::isfinite(kappa->data()[k]))
            throw py::value_error("kappa: must be positive and finite");
        double* const data = log_g.mutable_data();
        double const* const rates = kappa ? kappa->data() : nullptr;
        without_lock([&] {
          run_scir_log(*active_kernels(), data, shape.data(), log_g.shape(0), log_g.shape(1), h,
                       rates, address(seed, chain, step, stream), threads);
        });
      },
      py::kw_only(), py::arg("log_g").noconvert(), py::arg("shape"), py::arg("h"),
      py::arg("kappa") = py::none(), py::arg("seed"), py::arg("chain"), py::arg("step"),
      py::arg("stream"), py::arg("threads"));
}

}  // namespace sgmc::bindings
