#include "bindings.hpp"

namespace sgmc::bindings {

void bind_baselines(py::module_& m) {
  m.def(
      "documents_mean_field",
      [](Array<float> const& weights, std::int32_t topics, Array<std::int64_t> const& indptr,
         Array<std::int32_t> const& indices, Array<std::int32_t> const& counts, float alpha,
         std::int32_t sweeps, float tolerance, Array<float> gamma, bool want_words,
         py::object const& workspace, int threads) -> py::object {
        auto& work = workspace.cast<Workspace&>();
        check_shape(weights, "weights", {-1, -1});
        std::int64_t const rows = weights.shape(0), stride = weights.shape(1);
        check_documents(indptr, indices, counts, rows);
        check_padding("weights", stride, topics);
        check_threads(threads);
        check_shape(gamma, "gamma", {indptr.shape(0) - 1, stride});
        for (std::int64_t d = 0; d < gamma.shape(0); ++d)
          for (std::int64_t k = 0; k < topics; ++k)
            if (!(gamma.data()[d * stride + k] > 0.0f))
              throw py::value_error("gamma: must be positive");
        if (!(alpha > 0.0f)) throw py::value_error("alpha: must be positive");
        if (sweeps < 1) throw py::value_error("sweeps: must be at least 1");
        MeanFieldTask task{};
        task.weights = weights.data();
        task.stride = stride;
        task.topics = topics;
        task.indptr = indptr.data();
        task.indices = indices.data();
        task.counts = counts.data();
        task.documents = indptr.shape(0) - 1;
        task.alpha = alpha;
        task.tolerance = tolerance;
        task.sweeps = sweeps;
        task.gamma = gamma.mutable_data();
        py::object words = py::none();
        std::int64_t* word_counts = nullptr;
        if (want_words) {
          word_counts = counts_in(work, rows * stride);
          words = Array<std::int64_t>({rows, stride}, word_counts, workspace);
        }
        {
          py::gil_scoped_release release;
          run_mean_field(*active_kernels(), task, rows, word_counts, work, threads);
        }
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
         Array<std::int64_t> const& doc_ids, float alpha, float eta, std::int64_t words,
         std::int32_t sweeps, std::uint64_t seed, std::uint32_t chain, std::uint64_t step,
         Array<std::int32_t> z, Array<std::int64_t> const& token_ptr, py::object const& workspace,
         int threads) {
        auto& work = workspace.cast<Workspace&>();
        std::int64_t const stride = (topics + kPad - 1) / kPad * kPad;
        check_documents(indptr, indices, counts, rows);
        check_shape(doc_ids, "doc_ids", {indptr.shape(0) - 1});
        check_padding("topics", stride, topics);
        check_threads(threads);
        check_tokens(z, token_ptr, indptr, counts, topics);
        if (!(alpha > 0.0f) || !(eta > 0.0f)) throw py::value_error("alpha, eta: must be positive");
        if (sweeps < 1) throw py::value_error("sweeps: must be at least 1");
        if (words < rows) throw py::value_error("words: at least as many as rows");
        CollapsedTask task{};
        task.stride = stride;
        task.topics = topics;
        task.indptr = indptr.data();
        task.indices = indices.data();
        task.counts = counts.data();
        task.entity = reinterpret_cast<std::uint64_t const*>(doc_ids.data());
        task.documents = indptr.shape(0) - 1;
        task.alpha = alpha;
        task.eta = eta;
        task.mass = static_cast<double>(words) * static_cast<double>(eta);
        task.sweeps = sweeps;
        task.address = address(seed, chain, step);
        task.purpose = Purpose::documents;
        task.z = z.mutable_data();
        task.token_ptr = token_ptr.data();
        std::int64_t* const word_counts = counts_in(work, rows * stride);
        Array<std::int64_t> found({rows, stride}, word_counts, workspace);
        py::gil_scoped_release release;
        run_collapsed(*active_kernels(), task, rows, word_counts, work, threads);
        return found;
      },
      py::kw_only(), py::arg("rows"), py::arg("topics"), py::arg("indptr"), py::arg("indices"),
      py::arg("counts"), py::arg("doc_ids"), py::arg("alpha"), py::arg("eta"), py::arg("words"),
      py::arg("sweeps"), py::arg("seed"), py::arg("chain"), py::arg("step"),
      py::arg("z").noconvert(), py::arg("token_ptr"), py::arg("work"), py::arg("threads"));
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
        check_documents(indptr, indices, counts, log_phi.shape(0));
        check_threads(threads);
        std::int64_t const n = indptr.shape(0) - 1;
        check_shape(doc_ids, "doc_ids", {n});
        check_shape(slice, "slice", {n});
        Array<std::int32_t> z(n);
        MixtureTask task{};
        task.log_phi = log_phi.data();
        task.log_weight = log_weight.data();
        task.stride = stride;
        task.components = components;
        task.indptr = indptr.data();
        task.indices = indices.data();
        task.counts = counts.data();
        task.entity = reinterpret_cast<std::uint64_t const*>(doc_ids.data());
        task.slice = slice.data();
        task.address = address(seed, chain, step);
        task.purpose = Purpose::documents;
        task.z = z.mutable_data();
        py::gil_scoped_release release;
        run_mixture(*active_kernels(), task, n, threads);
        return z;
      },
      py::kw_only(), py::arg("log_phi"), py::arg("log_weight"), py::arg("components"),
      py::arg("indptr"), py::arg("indices"), py::arg("counts"), py::arg("doc_ids"),
      py::arg("slice"), py::arg("seed"), py::arg("chain"), py::arg("step"), py::arg("threads"));
}

}  // namespace sgmc::bindings
