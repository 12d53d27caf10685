#include <algorithm>

#include "bindings.hpp"

namespace sgmc::bindings {
namespace {

void check_indptr(Array<std::int64_t> const& indptr, std::int64_t entries) {
  check_shape(indptr, "indptr", {-1});
  std::int64_t const n = indptr.shape(0) - 1;
  if (n < 0 || indptr.data()[0] != 0 || indptr.data()[n] != entries)
    throw py::value_error("indptr: must start at 0 and end at len(indices)");
  for (std::int64_t d = 0; d < n; ++d)
    if (indptr.data()[d] > indptr.data()[d + 1]) throw py::value_error("indptr: must not decrease");
}

/// Checks held-out entries over `rows` rows.
void check_scored(Array<std::int64_t> const& indptr, Array<std::int32_t> const& indices,
                  std::int64_t rows) {
  check_shape(indices, "indices", {-1});
  check_indptr(indptr, indices.shape(0));
  for (std::int64_t i = 0; i < indices.shape(0); ++i)
    if (indices.data()[i] < 0 || indices.data()[i] >= rows)
      throw py::value_error("indices: not a row of phi");
}

constexpr char const* kPlaces = "token_ptr: must give every document its tokens inside z";

/// Checks the begin and end of each document's tokens, in an array of n, so that no difference
/// overflows.
void check_places(Array<std::int64_t> const& token_ptr, std::int64_t n) {
  check_shape(token_ptr, "token_ptr", {-1});
  std::int64_t const* const at = token_ptr.data();
  std::int64_t const last = token_ptr.shape(0) - 1;
  if (last < 0 || at[0] < 0 || at[last] > n) throw py::value_error(kPlaces);
  for (std::int64_t d = 0; d < last; ++d)
    if (at[d] > at[d + 1]) throw py::value_error(kPlaces);
}

/// Checks row numbers, which must be below n.
void check_order(Array<std::int64_t> const& order, std::int64_t n) {
  for (std::int64_t i = 0; i < order.shape(0); ++i)
    if (order.data()[i] < 0 || order.data()[i] >= n) throw py::value_error("order: must be rows");
}

}  // namespace

Alphas::Alphas(Alpha const& alpha, std::int32_t topics, std::int64_t stride)
    : doubles(static_cast<std::size_t>(stride), 0.0),
      each(doubles.size() / kPad, Lanes{}),
      share(each),
      most(0.0f),
      total(0.0) {
  auto const k = static_cast<std::size_t>(topics);
  if (double const* const one = std::get_if<double>(&alpha)) {
    std::fill_n(doubles.begin(), k, *one);
    total = topics * *one;
  } else {
    auto const& all = std::get<Array<float>>(alpha);
    check_shape(all, "alpha", {stride});
    std::copy_n(all.data(), k, doubles.begin());
    for (std::size_t i = 0; i < k; ++i) total += doubles[i];
  }
  for (std::size_t i = 0; i < k; ++i) {
    check_positive("alpha", doubles[i]);
    each[i / kPad].lane[i % kPad] = static_cast<float>(doubles[i]);
    most = std::max(most, static_cast<float>(doubles[i]));
  }
  for (std::size_t i = 0; i < k; ++i) {
    float const x = static_cast<float>(doubles[i]) / most;
    if (x < std::numeric_limits<float>::min())
      throw py::value_error("alpha: the smallest must not vanish beside the largest in float32");
    share[i / kPad].lane[i % kPad] = x;
  }
}

Csr csr_of(Array<std::int64_t> const& indptr, Array<std::int32_t> const& indices,
           Array<std::int32_t> const& counts, std::int64_t rows) {
  check_shape(indices, "indices", {-1});
  check_shape(counts, "counts", {indices.shape(0)});
  std::int64_t const entries = indices.shape(0);
  check_indptr(indptr, entries);
  constexpr std::int32_t most = std::numeric_limits<std::int32_t>::max();
  auto const last = static_cast<std::int32_t>(std::min<std::int64_t>(rows - 1, most));
  if (std::int64_t const i = first_outside(indices.data(), entries, 0, last); i < entries)
    throw py::value_error("indices: " + std::to_string(indices.data()[i]) + " is not a row of phi");
  if (first_outside(counts.data(), entries, 1, most) < entries)
    throw py::value_error("counts: must be at least 1");
  return {indptr.data(), indices.data(), counts.data(), indptr.shape(0) - 1};
}

std::uint64_t const* entities_of(Array<std::int64_t> const& doc_ids, std::int64_t n) {
  check_shape(doc_ids, "doc_ids", {n});
  return reinterpret_cast<std::uint64_t const*>(doc_ids.data());
}

void check_tokens(Array<std::int32_t> const& z, Array<std::int64_t> const& token_ptr,
                  Csr const& documents, std::int32_t topics) {
  std::int64_t const n = documents.documents;
  check_shape(z, "z", {-1});
  check_shape(token_ptr, "token_ptr", {n + 1});
  std::int64_t const* const at = token_ptr.data();
  check_places(token_ptr, z.shape(0));
  for (std::int64_t d = 0; d < n; ++d) {
    std::int64_t tokens = 0;
    for (std::int64_t i = documents.indptr[d]; i < documents.indptr[d + 1]; ++i)
      tokens += documents.counts[i];
    if (at[d + 1] - at[d] != tokens) throw py::value_error(kPlaces);
  }
  if (std::int64_t const tokens = at[n] - at[0];
      first_outside(z.data() + at[0], tokens, -1, topics - 1) < tokens)
    throw py::value_error("z: topics must be -1 or in [0, K)");
}

void bind_documents(py::module_& m) {
  py::class_<Workspace>(m, "Workspace").def(py::init<>());

  m.def(
      "renumber",
      [](Array<std::int32_t> const& ids) {
        check_shape(ids, "ids", {-1});
        std::int64_t const n = ids.shape(0);
        for (std::int64_t i = 0; i < n; ++i)
          if (ids.data()[i] < 0) throw py::value_error("ids: must not be negative");
        Array<std::int32_t> places(n);
        std::int32_t const* const from = ids.data();
        std::int32_t* const to = places.mutable_data();
        std::vector<std::int32_t> distinct;
        without_lock([&] { distinct = renumber(from, n, to); });
        return py::make_tuple(
            Array<std::int32_t>(static_cast<py::ssize_t>(distinct.size()), distinct.data()),
            places);
      },
      py::arg("ids"));
  m.attr("DENSE_TOPICS") = kDenseTopics;
  m.def(
      "documents_gibbs",
      [](Array<float> const& phi, std::int32_t topics, Array<std::int64_t> const& indptr,
         Array<std::int32_t> const& indices, Array<std::int32_t> const& counts,
         Array<std::int64_t> const& doc_ids, Alpha const& alpha, std::int32_t sweeps,
         std::int32_t kept, bool rao_blackwell, std::uint64_t seed, std::uint32_t chain,
         std::uint64_t step, Purpose purpose, std::optional<Array<std::int32_t>> z,
         std::optional<Array<std::int64_t>> token_ptr, bool want_words, bool want_documents,
         std::optional<Array<std::int64_t>> bucket, Workspace& work, int threads) -> py::tuple {
        check_shape(phi, "phi", {-1, -1});
        std::int64_t const rows = phi.shape(0), stride = phi.shape(1);
        auto task = task_over<DocumentsTask>(csr_of(indptr, indices, counts, rows));
        task.entity = entities_of(doc_ids, task.documents);
        check_padding("phi", stride, topics);
        check_threads(threads);
        Alphas const alphas(alpha, topics, stride);
        if (sweeps < 1 || kept < 1 || kept > sweeps)
          throw py::value_error("sweeps, kept: must be 1 <= kept <= sweeps");
        if (z.has_value() != token_ptr.has_value())
          throw py::value_error("z and token_ptr: both or neither");
        task.phi = phi.data();
        task.stride = stride;
        task.topics = topics;
        task.alpha = alphas.each.data()->lane;
        task.share = alphas.share.data()->lane;
        task.most_alpha = alphas.most;
        task.rows = rows;
        task.sweeps = sweeps;
        task.kept = kept;
        task.rao_blackwell = rao_blackwell;
        task.address = address(seed, chain, step);
        task.purpose = purpose;
        if (z) {
          check_tokens(*z, *token_ptr, task, topics);
          task.z = z->mutable_data();
          task.token_ptr = token_ptr->data();
        }
        py::object words = py::none(), documents = py::none();
        std::int64_t* to = nullptr;
        std::int64_t* rest = nullptr;
        if (want_words) {
          auto a = lent<std::int64_t>(work, rows, stride);
          to = a.mutable_data();
          words = a;
        }
        if (bucket) {
          if (!want_words) throw py::value_error("bucket: with want_words only");
          check_shape(*bucket, "bucket", {rows});
          rest = bucket->mutable_data();
        }
        if (want_documents) {
          auto a = aligned<std::int64_t>({task.documents, stride}, false);
          task.doc_counts = a.mutable_data();
          documents = a;
        }
        without_lock([&] { run_documents(*active_kernels(), task, to, rest, work, threads); });
        return py::make_tuple(words, documents);
      },
      py::kw_only(), py::arg("phi"), py::arg("topics"), py::arg("indptr"), py::arg("indices"),
      py::arg("counts"), py::arg("doc_ids"), py::arg("alpha"), py::arg("sweeps"), py::arg("kept"),
      py::arg("rao_blackwell"), py::arg("seed"), py::arg("chain"), py::arg("step"),
      py::arg("purpose"), py::arg("z").noconvert() = py::none(), py::arg("token_ptr") = py::none(),
      py::arg("want_words") = true, py::arg("want_documents") = false,
      py::arg("bucket").noconvert() = py::none(), py::arg("work"), py::arg("threads"));

  m.def(
      "documents_expected",
      [](Array<float> const& phi, std::int32_t topics, Array<std::int64_t> const& indptr,
         Array<std::int32_t> const& indices, Array<std::int32_t> const& counts, Alpha const& alpha,
         std::int32_t passes, Workspace& work, int threads) {
        check_shape(phi, "phi", {-1, -1});
        std::int64_t const rows = phi.shape(0), stride = phi.shape(1);
        auto task = task_over<ExpectedTask>(csr_of(indptr, indices, counts, rows));
        check_padding("phi", stride, topics);
        check_threads(threads);
        Alphas const alphas(alpha, topics, stride);
        if (passes < 0) throw py::value_error("passes: must be at least 0");
        auto found = aligned<float>({task.documents, stride}, false);
        task.phi = phi.data();
        task.stride = stride;
        task.alpha = alphas.each.data()->lane;
        task.passes = passes;
        task.found = found.mutable_data();
        without_lock([&] { run_expected(*active_kernels(), task, rows, work, threads); });
        return found;
      },
      py::kw_only(), py::arg("phi"), py::arg("topics"), py::arg("indptr"), py::arg("indices"),
      py::arg("counts"), py::arg("alpha"), py::arg("passes"), py::arg("work"), py::arg("threads"));
  m.def(
      "proportions_of",
      [](Array<float> const& counts, Array<double> const& alpha, int threads) {
        check_shape(counts, "counts", {-1, -1});
        std::int64_t const n = counts.shape(0), stride = counts.shape(1);
        check_shape(alpha, "alpha", {-1});
        std::int64_t const topics = alpha.shape(0);
        check_padding("counts", stride, topics);
        check_threads(threads);
        Array<double> theta({n, topics});
        double* const to = theta.mutable_data();
        without_lock(
            [&] { run_proportions(counts.data(), n, stride, topics, alpha.data(), to, threads); });
        return theta;
      },
      py::kw_only(), py::arg("counts"), py::arg("alpha"), py::arg("threads"));
  m.def(
      "spread",
      [](Array<float> const& phi, std::optional<Array<float>> const& theirs,
         std::optional<Array<std::int64_t>> const& order, Alpha const& alpha, std::int32_t topics,
         Array<std::int64_t> const& bucket, Array<std::int64_t>& counts, Workspace& work,
         int threads) {
        check_shape(phi, "phi", {-1, -1});
        std::int64_t const stride = phi.shape(1),
                           n = phi.shape(0) + (theirs ? theirs->shape(0) : 0);
        if (theirs) check_shape(*theirs, "theirs", {-1, stride});
        if (order) check_shape(*order, "order", {-1});
        std::int64_t const rows = order ? order->shape(0) : n;
        check_padding("phi", stride, topics);
        Alphas const alphas(alpha, topics, stride);
        check_shape(bucket, "bucket", {rows});
        check_shape(counts, "counts", {rows, stride});
        check_threads(threads);
        if (order) check_order(*order, n);
        FoundRows<float> const from{phi.data(), theirs ? theirs->data() : nullptr, phi.shape(0),
                                    stride};
        std::int64_t* const to = counts.mutable_data();
        without_lock([&] {
          run_spread(*active_kernels(), from, order ? order->data() : nullptr, rows,
                     alphas.share.data()->lane, bucket.data(), to, work, threads);
        });
      },
      py::kw_only(), py::arg("phi"), py::arg("theirs") = py::none(), py::arg("order") = py::none(),
      py::arg("alpha"), py::arg("topics"), py::arg("bucket"), py::arg("counts").noconvert(),
      py::arg("work"), py::arg("threads"));

  m.def(
      "alpha_evidence",
      [](Array<std::int32_t> const& z, Array<std::int64_t> const& token_ptr,
         Array<std::int64_t> const& doc_ids, Array<float> const& alpha, std::int32_t topics,
         std::uint64_t seed, std::uint32_t chain, std::uint64_t step, int threads) {
        check_shape(z, "z", {-1});
        check_shape(alpha, "alpha", {-1});
        check_padding("alpha", alpha.shape(0), topics);
        check_threads(threads);
        Alphas const alphas(alpha, topics, alpha.shape(0));
        check_places(token_ptr, z.shape(0));
        std::int64_t const n = token_ptr.shape(0) - 1;
        for (std::int64_t d = 0; d < n; ++d)
          if (token_ptr.data()[d + 1] - token_ptr.data()[d] > kMaxCollected)
            throw py::value_error(std::string(kPlaces) + ", at most " +
                                  std::to_string(kMaxCollected));
        for (std::int64_t i = token_ptr.data()[0]; i < token_ptr.data()[n]; ++i)
          if (z.data()[i] < 0 || z.data()[i] >= topics)
            throw py::value_error("z: topics must be in [0, K)");
        auto tables = aligned<std::int64_t>({alpha.shape(0)}, true);
        Array<double> q(n);
        AlphaTask const task{.z = z.data(),
                             .token_ptr = token_ptr.data(),
                             .entity = entities_of(doc_ids, n),
                             .topics = topics,
                             .alpha = alphas.doubles.data(),
                             .total = alphas.total,
                             .address = address(seed, chain, step),
                             .purpose = Purpose::alpha_evidence,
                             .q = q.mutable_data()};
        std::int64_t* const to = tables.mutable_data();
        without_lock([&] { run_alpha(*active_kernels(), task, n, to, threads); });
        return py::make_tuple(tables, q);
      },
      py::kw_only(), py::arg("z"), py::arg("token_ptr"), py::arg("doc_ids"), py::arg("alpha"),
      py::arg("topics"), py::arg("seed"), py::arg("chain"), py::arg("step"), py::arg("threads"));

  m.def(
      "add_counts",
      [](Array<std::int64_t> const& parts, Array<std::int64_t>& out, int threads) {
        check_shape(parts, "parts", {-1, -1});
        check_shape(out, "out", {parts.shape(1)});
        check_threads(threads);
        std::int64_t* const to = out.mutable_data();
        without_lock([&] { run_add(parts.data(), parts.shape(0), parts.shape(1), to, threads); });
      },
      py::kw_only(), py::arg("parts"), py::arg("out").noconvert(), py::arg("threads"));

  m.def(
      "add_rows",
      [](Array<std::int64_t> const& own, Array<std::int64_t> const& theirs,
         Array<std::int64_t> const& order, Array<std::int64_t> const& begin,
         Array<std::int64_t>& out, int threads) {
        check_shape(own, "own", {-1, -1});
        check_shape(theirs, "theirs", {-1, own.shape(1)});
        check_shape(order, "order", {own.shape(0) + theirs.shape(0)});
        check_shape(begin, "begin", {-1});
        std::int64_t const rows = begin.shape(0) - 1, n = order.shape(0);
        if (rows < 0) throw py::value_error("begin: must go from 0 to the end of order");
        check_shape(out, "out", {rows, own.shape(1)});
        check_threads(threads);
        std::int64_t const *const from = order.data(), *const at = begin.data();
        check_order(order, n);
        if (at[0] != 0 || at[rows] != n)
          throw py::value_error("begin: must go from 0 to the end of order");
        for (std::int64_t r = 0; r < rows; ++r)
          if (at[r + 1] <= at[r]) throw py::value_error("begin: must increase strictly");
        FoundRows<std::int64_t> const found{own.data(), theirs.data(), own.shape(0), own.shape(1)};
        std::int64_t* const to = out.mutable_data();
        without_lock([&] { run_add_rows(found, from, at, rows, to, threads); });
      },
      py::kw_only(), py::arg("own"), py::arg("theirs"), py::arg("order"), py::arg("begin"),
      py::arg("out").noconvert(), py::arg("threads"));

  m.def(
      "predictive",
      [](Array<float> const& phi, std::int32_t topics, Array<std::int64_t> const& indptr,
         Array<std::int32_t> const& indices, Array<std::int64_t> const& doc_counts,
         Array<std::int64_t> const& tokens, Alpha const& alpha, double factor, int threads) {
        check_shape(phi, "phi", {-1, -1});
        check_scored(indptr, indices, phi.shape(0));
        std::int64_t const stride = phi.shape(1), n = indptr.shape(0) - 1;
        check_shape(doc_counts, "doc_counts", {n, stride});
        check_shape(tokens, "tokens", {n});
        check_padding("phi", stride, topics);
        Alphas const alphas(alpha, topics, stride);
        check_threads(threads);
        Array<double> p(indices.shape(0));
        PredictiveTask const task{.phi = phi.data(),
                                  .stride = stride,
                                  .topics = topics,
                                  .indptr = indptr.data(),
                                  .indices = indices.data(),
                                  .doc_counts = doc_counts.data(),
                                  .tokens = tokens.data(),
                                  .alpha = alphas.doubles.data(),
                                  .total = alphas.total,
                                  .factor = factor,
                                  .theta = nullptr,
                                  .p = p.mutable_data()};
        without_lock([&] { run_predictive(*active_kernels(), task, n, threads); });
        return p;
      },
      py::kw_only(), py::arg("phi"), py::arg("topics"), py::arg("indptr"), py::arg("indices"),
      py::arg("doc_counts"), py::arg("tokens"), py::arg("alpha"), py::arg("factor"),
      py::arg("threads"));
  m.def(
      "predictive_given_theta",
      [](Array<float> const& phi, std::int32_t topics, Array<std::int64_t> const& indptr,
         Array<std::int32_t> const& indices, Array<float> const& theta, int threads) {
        check_shape(phi, "phi", {-1, -1});
        check_scored(indptr, indices, phi.shape(0));
        std::int64_t const stride = phi.shape(1), n = indptr.shape(0) - 1;
        check_shape(theta, "theta", {n, stride});
        check_padding("phi", stride, topics);
        check_threads(threads);
        Array<double> p(indices.shape(0));
        PredictiveTask task{};
        task.phi = phi.data();
        task.stride = stride;
        task.topics = topics;
        task.indptr = indptr.data();
        task.indices = indices.data();
        task.theta = theta.data();
        task.p = p.mutable_data();
        without_lock([&] { run_predictive(*active_kernels(), task, n, threads); });
        return p;
      },
      py::kw_only(), py::arg("phi"), py::arg("topics"), py::arg("indptr"), py::arg("indices"),
      py::arg("theta"), py::arg("threads"));
}

}  // namespace sgmc::bindings
