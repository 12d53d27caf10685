#include "bindings.hpp"

namespace sgmc::bindings {

void bind_baselines(py::module_& m) {
  m.def(
      "documents_mean_field",
      [](Array<float> const& weights, std::int32_t topics, Array<std::int64_t> const& indptr,
         Array<std::int32_t> const& indices, Array<std::int32_t> const& counts, float alpha,
         std::int32_t sweeps, float tolerance, Array<float> gamma, bool want_words, Workspace& work,
         int threads) -> py::object {
        check_shape(weights, "weights", {-1, -1});
        std::int64_t const rows = weights.shape(0), stride = weights.shape(1);
        auto task = task_over<MeanFieldTask>(csr_of(indptr, indices, counts, rows));
        check_padding("weights", stride, topics);
        check_threads(threads);
        check_shape(gamma, "gamma", {task.documents, stride});
        for (std::int64_t d = 0; d < gamma.shape(0); ++d)
          for (std::int64_t k = 0; k < topics; ++k)
            if (!(gamma.data()[d * stride + k] > 0.0f))
              throw py::value_error("gamma: must be positive");
        check_positive("alpha", alpha);
        if (sweeps < 1) throw py::value_error("sweeps: must be at least 1");
        task.weights = weights.data();
        task.stride = stride;
        task.topics = topics;
        task.alpha = alpha;
        task.tolerance = tolerance;
        task.sweeps = sweeps;
        task.gamma = gamma.mutable_data();
        py::object words = py::none();
        std::int64_t* to = nullptr;
        if (want_words) {
          auto a = lent<std::int64_t>(work, rows, stride);
          to = a.mutable_data();
          words = a;
        }
        without_lock([&] { run_mean_field(*active_kernels(), task, rows, to, work, threads); });
        return words;
      },
      py::kw_only(), py::arg("weights"), py::arg("topics"), py::arg("indptr"), py::arg("indices"),
      py::arg("counts"), py::arg("alpha"), py::arg("sweeps"), py::arg("tolerance"),
      py::arg("gamma").noconvert(), py::arg("want_words") = true, py::arg("work"),
      py::arg("threads"));
  m.def(
      "documents_collapsed",
      [](std::int64_t rows, std::int32_t topics, Array<std::int64_t> const& indptr,
         Array<std::int32_t> const& indices, Array<std::int32_t> const& counts,
         Array<std::int64_t> const& doc_ids, Array<float> const& alpha, Array<float> const& priors,
         Array<std::int32_t> const& prior_of, Array<double> const& mass, std::int32_t sweeps,
         std::uint64_t seed, std::uint32_t chain, std::vector<std::uint64_t> const& steps,
         std::vector<Array<std::int32_t>> z, Array<std::int64_t> const& token_ptr, Workspace& work,
         int threads, std::optional<Array<std::int64_t>> visited,
         std::optional<py::function> const& waiting, double seconds) {
        if (rows < 0) throw py::value_error("rows: must be >= 0");
        std::int64_t const stride = (std::int64_t{topics} + kPad - 1) / kPad * kPad;
        auto const chains = static_cast<std::int64_t>(z.size());
        auto one = task_over<CollapsedTask>(csr_of(indptr, indices, counts, rows));
        one.entity = entities_of(doc_ids, one.documents);
        check_padding("topics", stride, topics);
        check_threads(threads);
        if (chains < 1 || steps.size() != z.size())
          throw py::value_error("z: wanted an array for each of the steps");
        check_shape(alpha, "alpha", {chains, stride});
        check_shape(priors, "priors", {chains, -1, stride});
        check_shape(prior_of, "prior_of", {rows});
        check_shape(mass, "mass", {chains, stride});
        for (std::int64_t i = 0; i < priors.size(); ++i) check_positive("priors", priors.data()[i]);
        for (std::int64_t i = 0; i < mass.size(); ++i) check_positive("mass", mass.data()[i]);
        for (std::int64_t r = 0; r < rows; ++r)
          if (prior_of.data()[r] < 0 || prior_of.data()[r] >= priors.shape(1))
            throw py::value_error("prior_of: a row of priors that there is not");
        if (sweeps < 1) throw py::value_error("sweeps: must be at least 1");
        one.stride = stride;
        one.topics = topics;
        one.prior_of = prior_of.data();
        one.sweeps = sweeps;
        one.purpose = Purpose::documents;
        one.token_ptr = token_ptr.data();
        std::vector<CollapsedTask> tasks(z.size(), one);
        std::vector<Alphas> alphas;
        alphas.reserve(z.size());
        for (std::size_t c = 0; c < z.size(); ++c) {
          auto const at = static_cast<std::int64_t>(c);
          check_tokens(z[c], token_ptr, one, topics);
          alphas.emplace_back(Array<float>(stride, alpha.data(at, 0), alpha), topics, stride);
          tasks[c].alpha = alphas[c].each.data()->lane;
          tasks[c].mass = mass.data(at, 0);
          tasks[c].priors = priors.data(at, 0, 0);
          tasks[c].address = address(seed, chain, steps[c]);
          tasks[c].z = z[c].mutable_data();
        }
        std::int64_t before = 0;
        if (visited) {
          check_shape(*visited, "visited", {1});
          before = visited->data()[0];
          if (before < 0) throw py::value_error("visited: must be >= 0");
        }
        std::optional<CollapsedSweeps> of_all;
        without_lock([&] {
          of_all.emplace(*active_kernels(), std::move(tasks), rows, before, work, threads);
        });
        double const together = waiting ? seconds : std::numeric_limits<double>::infinity();
        while (without_lock([&] { return of_all->run(together); })) {
          if (visited) visited->mutable_data()[0] = of_all->visited();
          if (PyErr_CheckSignals() != 0) throw py::error_already_set();
          (*waiting)();
        }
        auto found = lent<std::int64_t>(work, chains * rows, stride);
        std::int64_t* const to = found.mutable_data();
        without_lock([&] { of_all->copy_tables(to); });
        if (visited) visited->mutable_data()[0] = 0;
        return found;
      },
      py::kw_only(), py::arg("rows"), py::arg("topics"), py::arg("indptr"), py::arg("indices"),
      py::arg("counts"), py::arg("doc_ids"), py::arg("alpha"), py::arg("priors"),
      py::arg("prior_of"), py::arg("mass"), py::arg("sweeps"), py::arg("seed"), py::arg("chain"),
      py::arg("steps"), py::arg("z").noconvert(), py::arg("token_ptr"), py::arg("work"),
      py::arg("threads"), py::arg("visited").noconvert() = py::none(),
      py::arg("waiting") = py::none(), py::arg("seconds") = 0.0);
  m.def(
      "documents_mixture",
      [](Array<float> const& log_phi, Array<float> const& log_weight, std::int32_t components,
         Array<std::int64_t> const& indptr, Array<std::int32_t> const& indices,
         Array<std::int32_t> const& counts, Array<std::int64_t> const& doc_ids,
         Array<float> const& slice, std::uint64_t seed, std::uint32_t chain, std::uint64_t step,
         int threads) {
        check_shape(log_phi, "log_phi", {-1, -1});
        std::int64_t const stride = log_phi.shape(1);
        check_padding("log_phi", stride, components);
        check_shape(log_weight, "log_weight", {stride});
        auto task = task_over<MixtureTask>(csr_of(indptr, indices, counts, log_phi.shape(0)));
        task.entity = entities_of(doc_ids, task.documents);
        check_threads(threads);
        check_shape(slice, "slice", {task.documents});
        Array<std::int32_t> z(task.documents);
        task.log_phi = log_phi.data();
        task.log_weight = log_weight.data();
        task.stride = stride;
        task.components = components;
        task.slice = slice.data();
        task.address = address(seed, chain, step);
        task.purpose = Purpose::documents;
        task.z = z.mutable_data();
        without_lock([&] { run_mixture(*active_kernels(), task, threads); });
        return z;
      },
      py::kw_only(), py::arg("log_phi"), py::arg("log_weight"), py::arg("components"),
      py::arg("indptr"), py::arg("indices"), py::arg("counts"), py::arg("doc_ids"),
      py::arg("slice"), py::arg("seed"), py::arg("chain"), py::arg("step"), py::arg("threads"));
}

}  // namespace sgmc::bindings
