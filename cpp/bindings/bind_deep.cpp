#include <cmath>

#include "bindings.hpp"

namespace sgmc::bindings {
namespace {

double positive(double x, char const* name) {
  if (!(x > 0.0) || !std::isfinite(x))
    throw py::value_error(std::string(name) + ": must be positive and finite");
  return x;
}

}  // namespace

Link link_of(std::string const& name) {
  if (name == "counts") return Link::counts;
  if (name == "binary") return Link::binary;
  if (name == "real") return Link::real;
  throw py::value_error("link: wanted counts, binary or real, found '" + name + "'");
}

void bind_deep(py::module_& m) {
  m.attr("MAX_LAYERS") = kMaxLayers;
  m.def(
      "documents_deep",
      [](std::vector<Array<float>> const& phi, std::vector<std::int32_t> const& topics,
         Array<float> const& r, Array<float> const& start, Array<std::int64_t> const& indptr,
         Array<std::int32_t> const& indices, Array<std::int32_t> const& counts,
         Array<std::int64_t> const& doc_ids, double a0, double b0, double e0, double f0,
         std::string const& link, std::int32_t sweeps, std::int32_t kept, std::int32_t held,
         bool rao_blackwell, std::uint64_t seed, std::uint32_t chain, std::uint64_t step,
         Purpose purpose, std::optional<Array<float>> theta, std::optional<Array<double>> rates,
         std::optional<Array<float>> totals, bool fresh, bool want_words, bool want_mean,
         Workspace& work, int threads) -> py::tuple {
        auto const layers = static_cast<std::int32_t>(phi.size());
        if (layers < 1 || layers > kMaxLayers || topics.size() != phi.size())
          throw py::value_error("phi, topics: wanted 1 to " + std::to_string(kMaxLayers) +
                                " layers, as many of both");
        check_shape(phi[0], "phi", {-1, -1});
        std::int64_t const rows = phi[0].shape(0);
        auto task = task_over<DeepTask>(csr_of(indptr, indices, counts, rows));
        std::int64_t const n = task.documents;
        task.entity = entities_of(doc_ids, n);
        task.layers = layers;
        std::int64_t all = 0;
        for (int l = 0; l < layers; ++l) {
          auto const at = static_cast<std::size_t>(l);
          check_shape(phi[at], "phi", {l == 0 ? -1 : topics[at - 1], -1});
          check_padding("phi", phi[at].shape(1), topics[at]);
          task.topics[l] = topics[at];
          task.stride[l] = phi[at].shape(1);
          task.phi[l] = phi[at].data();
          all += task.stride[l];
        }
        std::int64_t const top = task.stride[layers - 1];
        check_shape(r, "r", {top});
        check_shape(start, "start", {all});
        check_threads(threads);
        if (sweeps < 1 || kept < 1 || kept > sweeps || held < 0)
          throw py::value_error("sweeps, kept, held: must be 1 <= kept <= sweeps, held >= 0");
        for (std::int64_t k = 0; k < task.topics[layers - 1]; ++k) check_positive("r", r.data()[k]);
        task.r = r.data();
        task.start = start.data();
        task.a0 = positive(a0, "a0");
        task.b0 = positive(b0, "b0");
        task.e0 = positive(e0, "e0");
        task.f0 = positive(f0, "f0");
        task.link = link_of(link);
        task.sweeps = sweeps;
        task.kept = kept;
        task.held = held;
        task.rao_blackwell = rao_blackwell;
        task.address = address(seed, chain, step);
        task.purpose = purpose;
        task.fresh = fresh;
        if (theta.has_value() != rates.has_value() || (totals && !theta))
          throw py::value_error("theta, rates: both or neither; totals with them only");
        if (theta) {
          check_shape(*theta, "theta", {n, all});
          check_shape(*rates, "rates", {n, layers + 1});
          task.theta = theta->mutable_data();
          task.rates = rates->mutable_data();
        }
        if (totals) {
          check_shape(*totals, "totals", {n, all});
          task.totals = totals->mutable_data();
          task.upward_only = true;
        }
        py::object words = py::none(), mean = py::none(), q = py::none(), tables = py::none();
        py::list above;
        std::int64_t* to = nullptr;
        std::int64_t* table_counts = nullptr;
        std::int64_t* upper[kMaxLayers] = {};
        if (want_words) {
          auto w = lent<std::int64_t>(work, rows, task.stride[0]);
          to = w.mutable_data();
          words = w;
          for (int l = 1; l < layers; ++l) {
            auto a = aligned<std::int64_t>({task.topics[l - 1], task.stride[l]}, true);
            upper[l] = a.mutable_data();
            above.append(a);
          }
          auto t = aligned<std::int64_t>({1, top}, true);
          table_counts = t.mutable_data();
          tables = t;
          Array<double> sum(n);
          task.q = sum.mutable_data();
          q = sum;
        }
        if (want_mean) {
          auto a = aligned<float>({n, all}, false);
          task.mean = a.mutable_data();
          mean = a;
        }
        without_lock([&] {
          run_deep(*active_kernels(), task, rows, to, want_words ? upper : nullptr, table_counts,
                   work, threads);
        });
        return py::make_tuple(words, above, tables, q, mean);
      },
      py::kw_only(), py::arg("phi"), py::arg("topics"), py::arg("r"), py::arg("start"),
      py::arg("indptr"), py::arg("indices"), py::arg("counts"), py::arg("doc_ids"), py::arg("a0"),
      py::arg("b0"), py::arg("e0"), py::arg("f0"), py::arg("link"), py::arg("sweeps"),
      py::arg("kept"), py::arg("held"), py::arg("rao_blackwell"), py::arg("seed"), py::arg("chain"),
      py::arg("step"), py::arg("purpose"), py::arg("theta").noconvert() = py::none(),
      py::arg("rates").noconvert() = py::none(), py::arg("totals").noconvert() = py::none(),
      py::arg("fresh") = false, py::arg("want_words") = true, py::arg("want_mean") = false,
      py::arg("work"), py::arg("threads"));

  m.def(
      "tables",
      [](Array<std::int64_t> const& n, Array<double> const& shape, std::uint64_t seed,
         std::uint32_t chain, std::uint64_t step, Purpose purpose) {
        check_shape(n, "n", {-1});
        check_shape(shape, "shape", {n.shape(0)});
        for (std::int64_t i = 0; i < n.shape(0); ++i) {
          if (n.data()[i] < 0 || n.data()[i] > kMaxCollected)
            throw py::value_error("n: wanted 0 to " + std::to_string(kMaxCollected));
          positive(shape.data()[i], "shape");
        }
        Array<std::int64_t> out(n.shape(0));
        active_kernels()->random.tables(n.data(), shape.data(), n.shape(0),
                                        address(seed, chain, step), purpose, out.mutable_data());
        return out;
      },
      py::kw_only(), py::arg("n"), py::arg("shape"), py::arg("seed"), py::arg("chain"),
      py::arg("step"), py::arg("purpose"));
}

}  // namespace sgmc::bindings
