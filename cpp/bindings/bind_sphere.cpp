#include <cmath>

#include "bindings.hpp"

namespace sgmc::bindings {
namespace {

/// Checks a finite number that must be at least 0, or above 0 if `positive`.
double finite(char const* name, double x, bool positive = false) {
  if (!(x >= 0.0) || !std::isfinite(x) || (positive && x == 0.0))
    throw py::value_error(std::string(name) + ": must be finite and " +
                          (positive ? "positive" : "at least 0"));
  return x;
}

/// Checks the dimension of the space around a sphere.
double dimension(double d) {
  if (!(d >= 1.0) || !std::isfinite(d)) throw py::value_error("d: must be finite and at least 1");
  return d;
}

/// Checks a concentration, which must be in the range in which Bessel functions take bounded time.
double concentration(double x) {
  constexpr double most = 1e13;
  if (finite("kappa", x) > most) throw py::value_error("kappa: must be at most 1e13");
  return x;
}

/// Checks (V, stride) points, and returns their shape.
PointsTask shape_of(Array<double> const& x, std::int32_t topics) {
  check_shape(x, "x", {-1, -1});
  check_padding("x", x.shape(1), topics);
  return {0, 0, x.shape(1), topics};
}

/// Checks documents over `rows` words, and returns them.
Directions directions_of(Array<std::int64_t> const& indptr, Array<std::int32_t> const& indices,
                         Array<double> const& values, std::int64_t rows) {
  check_shape(indices, "indices", {-1});
  check_shape(values, "values", {indices.shape(0)});
  check_shape(indptr, "indptr", {-1});
  std::int64_t const documents = indptr.shape(0) - 1, entries = indices.shape(0);
  std::int64_t const* const at = indptr.data();
  if (documents < 0 || at[0] != 0 || at[documents] != entries ||
      documents > std::numeric_limits<std::int32_t>::max())
    throw py::value_error("indptr: must lead from 0 to the number of indices");
  for (std::int64_t d = 0; d < documents; ++d)
    if (at[d] > at[d + 1] || at[d + 1] > entries)
      throw py::value_error("indptr: must not decrease");
  for (std::int64_t i = 0; i < entries; ++i)
    if (indices.data()[i] < 0 || indices.data()[i] >= rows)
      throw py::value_error("indices: " + std::to_string(indices.data()[i]) + " is not a row of x");
  return {at, indices.data(), values.data(), documents};
}

Chart chart_of(std::string const& name) {
  if (name == "root") return Chart::root;
  if (name == "flat") return Chart::flat;
  throw py::value_error("chart: wanted root or flat, found '" + name + "'");
}

/// Checks the inner products of K topics with each other and with documents.
void check_products(Array<double> const& gram, Array<double> const& along, std::int32_t topics) {
  check_shape(along, "along", {-1, -1});
  check_padding("along", along.shape(1), topics);
  check_shape(gram, "gram", {along.shape(1), along.shape(1)});
}

void bind_points(py::module_& m) {
  m.def(
      "sphere_moments",
      [](Array<double> const& x, std::int32_t topics, std::optional<Array<double>> const& centre,
         Workspace& work, int threads) {
        PointsTask const shape = shape_of(x, topics);
        if (centre) check_shape(*centre, "centre", {x.shape(0)});
        check_threads(threads);
        Array<double> gram({shape.stride, shape.stride}), along(shape.stride);
        double *const to = gram.mutable_data(), *const also = along.mutable_data();
        double const* const of = centre ? centre->data() : nullptr;
        without_lock([&] {
          run_sphere_moments(*active_kernels(), x.data(), of, x.shape(0), shape, to, also, work,
                             threads);
        });
        return py::make_tuple(gram, along);
      },
      py::kw_only(), py::arg("x"), py::arg("topics"), py::arg("centre"), py::arg("work"),
      py::arg("threads"));
  m.def(
      "sphere_force",
      [](Array<double> gradient, Array<double> const& x, Array<double> v, Array<double> squares,
         std::int32_t topics, double length, std::optional<Array<double>> const& sd, double damp,
         std::uint64_t seed, std::uint32_t chain, std::uint64_t step, std::uint32_t stream,
         std::uint32_t part, Workspace& work, int threads) {
        ForceTask task{};
        static_cast<PointsTask&>(task) = shape_of(x, topics);
        check_shape(gradient, "gradient", {x.shape(0), x.shape(1)});
        check_shape(v, "v", {x.shape(0), x.shape(1)});
        check_shape(squares, "squares", {x.shape(1)});
        if (sd) check_shape(*sd, "sd", {x.shape(1)});
        check_threads(threads);
        task.length = length;
        task.sd = sd ? sd->data() : nullptr;
        task.address = address(seed, chain, step, stream);
        task.part = part;
        double *const force = gradient.mutable_data(), *const pace = v.mutable_data(),
                      *const to = squares.mutable_data();
        without_lock([&] {
          run_sphere_force(*active_kernels(), force, x.data(), x.shape(0), task, pace, damp, to,
                           work, threads);
        });
      },
      py::kw_only(), py::arg("gradient").noconvert(), py::arg("x"), py::arg("v").noconvert(),
      py::arg("squares").noconvert(), py::arg("topics"), py::arg("length"), py::arg("sd"),
      py::arg("damp"), py::arg("seed"), py::arg("chain"), py::arg("step"), py::arg("stream"),
      py::arg("part"), py::arg("work"), py::arg("threads"));
  m.def(
      "sphere_drift",
      [](Array<double> x, Array<double> v, Array<double> squares, std::int32_t topics,
         double length, double damp, Workspace& work, int threads) {
        PointsTask const shape = shape_of(x, topics);
        check_shape(v, "v", {x.shape(0), x.shape(1)});
        check_shape(squares, "squares", {x.shape(1)});
        check_threads(threads);
        double *const place = x.mutable_data(), *const pace = v.mutable_data(),
                      *const to = squares.mutable_data();
        std::int64_t const n = x.shape(0);
        without_lock([&] {
          run_sphere_drift(*active_kernels(), place, pace, n, shape, length, damp, to, work,
                           threads);
        });
      },
      py::kw_only(), py::arg("x").noconvert(), py::arg("v").noconvert(),
      py::arg("squares").noconvert(), py::arg("topics"), py::arg("length"), py::arg("damp"),
      py::arg("work"), py::arg("threads"));
  m.def(
      "sphere_along",
      [](Array<double> const& x, std::int32_t topics, Array<std::int64_t> const& indptr,
         Array<std::int32_t> const& indices, Array<double> const& values, int threads) {
        PointsTask const shape = shape_of(x, topics);
        Directions const of = directions_of(indptr, indices, values, x.shape(0));
        check_threads(threads);
        auto along = aligned<double>({of.documents, shape.stride}, false);
        double* const to = along.mutable_data();
        without_lock(
            [&] { run_sphere_along(*active_kernels(), x.data(), shape.stride, of, to, threads); });
        return along;
      },
      py::kw_only(), py::arg("x"), py::arg("topics"), py::arg("indptr"), py::arg("indices"),
      py::arg("values"), py::arg("threads"));
  m.def(
      "sphere_gradient",
      [](Array<double> const& x, std::int32_t topics, std::optional<Array<double>> const& centre,
         double pull, double of_centre, double of_sum, double weight,
         Array<std::int64_t> const& indptr, Array<std::int32_t> const& indices,
         Array<double> const& values, Array<double> const& proportions, Array<double> const& outer,
         Workspace& work, int threads) {
        GradientTask task{};
        static_cast<PointsTask&>(task) = shape_of(x, topics);
        Directions const of = directions_of(indptr, indices, values, x.shape(0));
        if (centre) check_shape(*centre, "centre", {x.shape(0)});
        check_shape(proportions, "proportions", {of.documents, task.stride});
        check_shape(outer, "outer", {task.stride, task.stride});
        check_threads(threads);
        task.centre = centre ? centre->data() : nullptr;
        task.pull = pull;
        task.of_centre = of_centre;
        task.of_sum = of_sum;
        task.weight = weight;
        task.proportions = proportions.data();
        task.outer = outer.data();
        auto gradient = aligned<double>({x.shape(0), task.stride}, false);
        double* const to = gradient.mutable_data();
        without_lock([&] {
          run_sphere_gradient(*active_kernels(), x.data(), to, x.shape(0), task, of, work, threads);
        });
        return gradient;
      },
      py::kw_only(), py::arg("x"), py::arg("topics"), py::arg("centre"), py::arg("pull"),
      py::arg("of_centre"), py::arg("of_sum"), py::arg("weight"), py::arg("indptr"),
      py::arg("indices"), py::arg("values"), py::arg("proportions"), py::arg("outer"),
      py::arg("work"), py::arg("threads"));
  m.def(
      "sphere_halves",
      [](Array<double> const& x, std::int32_t topics, Array<double> first,
         Array<double> const& other, std::optional<Array<double>> const& centre, double pull,
         double of_centre, double of_sum, double of_first, double of_other, Workspace& work,
         int threads) {
        HalvesTask task{};
        static_cast<PointsTask&>(task) = shape_of(x, topics);
        check_shape(first, "first", {x.shape(0), x.shape(1)});
        check_shape(other, "other", {x.shape(0), x.shape(1)});
        if (centre) check_shape(*centre, "centre", {x.shape(0)});
        check_threads(threads);
        task.centre = centre ? centre->data() : nullptr;
        task.pull = pull;
        task.of_centre = of_centre;
        task.of_sum = of_sum;
        task.of_first = of_first;
        task.of_other = of_other;
        Array<double> squares(task.stride);
        double *const sum = first.mutable_data(), *const to = squares.mutable_data();
        without_lock([&] {
          run_sphere_halves(*active_kernels(), x.data(), sum, other.data(), x.shape(0), task, to,
                            work, threads);
        });
        return squares;
      },
      py::kw_only(), py::arg("x"), py::arg("topics"), py::arg("first").noconvert(),
      py::arg("other"), py::arg("centre"), py::arg("pull"), py::arg("of_centre"), py::arg("of_sum"),
      py::arg("of_first"), py::arg("of_other"), py::arg("work"), py::arg("threads"));
}

void bind_documents_of_points(py::module_& m) {
  m.def(
      "sphere_proportions",
      [](Array<double> const& gram, Array<double> const& along, std::int32_t topics, double kappa,
         double alpha, double length, std::int32_t trajectories, std::int32_t kept,
         std::int32_t leaps, std::string const& chart, Array<std::int64_t> const& doc_ids,
         Array<double> theta, std::uint64_t seed, std::uint32_t chain, std::uint64_t step,
         Purpose purpose, Workspace& work, int threads) {
        check_products(gram, along, topics);
        ProportionsTask task{};
        task.documents = along.shape(0);
        task.stride = along.shape(1);
        task.topics = topics;
        task.entity = entities_of(doc_ids, task.documents);
        check_shape(theta, "theta", {task.documents, task.stride});
        for (std::int64_t d = 0; d < task.documents; ++d)
          for (std::int64_t k = 0; k < topics; ++k)
            if (!(theta.data()[d * task.stride + k] >= 0.0))
              throw py::value_error("theta: must be at least 0");
        check_threads(threads);
        if (trajectories < 1 || kept < 0 || kept > trajectories || leaps < 1)
          throw py::value_error(
              "trajectories, kept, leaps: must be 0 <= kept <= trajectories, leaps >= 1");
        task.gram = gram.data();
        task.along = along.data();
        task.kappa = finite("kappa", kappa);
        task.alpha = finite("alpha", alpha, true);
        task.length = finite("length", length);
        task.trajectories = trajectories;
        task.kept = kept;
        task.leaps = leaps;
        task.chart = chart_of(chart);
        task.address = address(seed, chain, step);
        task.purpose = purpose;
        Array<std::int32_t> accepted(task.documents);
        Array<double> jumped(task.documents);
        auto samples = aligned<float>({task.documents, kept, task.stride}, false);
        task.theta = theta.mutable_data();
        task.samples = samples.mutable_data();
        task.accepted = accepted.mutable_data();
        task.jumped = jumped.mutable_data();
        without_lock([&] { run_sphere_proportions(*active_kernels(), task, work, threads); });
        return py::make_tuple(samples, accepted, jumped);
      },
      py::kw_only(), py::arg("gram"), py::arg("along"), py::arg("topics"), py::arg("kappa"),
      py::arg("alpha"), py::arg("length"), py::arg("trajectories"), py::arg("kept"),
      py::arg("leaps"), py::arg("chart"), py::arg("doc_ids"), py::arg("theta").noconvert(),
      py::arg("seed"), py::arg("chain"), py::arg("step"), py::arg("purpose"), py::arg("work"),
      py::arg("threads"));
  m.def(
      "sphere_evidence",
      [](Array<double> const& gram, Array<double> const& along, std::int32_t topics,
         Array<float> const& samples, Workspace& work, int threads) {
        check_products(gram, along, topics);
        std::int64_t const n = along.shape(0), stride = along.shape(1);
        check_shape(samples, "samples", {n, -1, stride});
        check_threads(threads);
        EvidenceTask task{gram.data(), along.data(), samples.data(),
                          stride,      topics,       static_cast<std::int32_t>(samples.shape(1)),
                          nullptr,     nullptr};
        auto proportions = aligned<double>({n, stride}, false);
        auto outer = aligned<double>({stride, stride}, false);
        Array<double> cosines(n);
        task.proportions = proportions.mutable_data();
        task.cosines = cosines.mutable_data();
        double* const to = outer.mutable_data();
        without_lock([&] { run_sphere_evidence(*active_kernels(), task, n, to, work, threads); });
        return py::make_tuple(proportions, outer, cosines);
      },
      py::kw_only(), py::arg("gram"), py::arg("along"), py::arg("topics"), py::arg("samples"),
      py::arg("work"), py::arg("threads"));
  m.def(
      "sphere_cosines",
      [](Array<double> const& gram, Array<double> const& along, std::int32_t topics,
         Array<double> const& theta, double kappa, Workspace& work, int threads) {
        check_products(gram, along, topics);
        std::int64_t const n = along.shape(0), stride = along.shape(1);
        check_shape(theta, "theta", {-1, stride});
        if (theta.shape(0) < 1) throw py::value_error("theta: at least one row");
        check_threads(threads);
        Array<double> found(n);
        CosinesTask const task{gram.data(), along.data(),           theta.data(),
                               nullptr,     theta.shape(0),         stride,
                               topics,      finite("kappa", kappa), found.mutable_data()};
        without_lock([&] { run_sphere_cosines(*active_kernels(), task, n, work, threads); });
        return found;
      },
      py::kw_only(), py::arg("gram"), py::arg("along"), py::arg("topics"), py::arg("theta"),
      py::arg("kappa"), py::arg("work"), py::arg("threads"));
}

}  // namespace

void bind_sphere(py::module_& m) {
  m.def(
      "bessel_ratio",
      [](double d, double kappa) { return bessel_ratio(dimension(d), concentration(kappa)); },
      py::arg("d"), py::arg("kappa"));
  m.def(
      "log_normaliser",
      [](double d, double kappa) { return log_normaliser(dimension(d), concentration(kappa)); },
      py::arg("d"), py::arg("kappa"));
  bind_points(m);
  bind_documents_of_points(m);
}

}  // namespace sgmc::bindings
