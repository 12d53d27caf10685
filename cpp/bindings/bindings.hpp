// Conversion and checks only: every function here says which argument is wrong and what is wanted.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sgmc/dispatch.hpp"
#include "sgmc/drivers.hpp"

namespace sgmc::bindings {

namespace py = pybind11;

template <class T>
using Array = py::array_t<T, py::array::c_style>;

void bind_random(py::module_& m);
void bind_baselines(py::module_& m);
void bind_deep(py::module_& m);
void bind_documents(py::module_& m);
void bind_elementary(py::module_& m);
void bind_output(py::module_& m);
void bind_simplex(py::module_& m);
void bind_sphere(py::module_& m);
void bind_testing(py::module_& m);
void bind_walk(py::module_& m);

/// The link that is called so (bind_deep.cpp).
Link link_of(std::string const& name);

/// The kernels in use; `use_isa` changes them (bind_random.cpp).
KernelTable const*& active_kernels();

template <class T>
void check_shape(Array<T> const& a, char const* name, std::initializer_list<std::int64_t> shape) {
  bool same = a.ndim() == static_cast<py::ssize_t>(shape.size());
  std::string want, found;
  int i = 0;
  for (std::int64_t n : shape) {
    same = same && (n < 0 || a.shape(i) == n);
    want += (i ? ", " : "") + (n < 0 ? std::string("any") : std::to_string(n));
    ++i;
  }
  if (same) return;
  for (int j = 0; j < a.ndim(); ++j) found += (j ? ", " : "") + std::to_string(a.shape(j));
  throw py::value_error(std::string(name) + " has shape (" + found + "), wanted (" + want + ")");
}

inline void check_threads(int threads) {
  if (threads < 1 || threads > 4096)
    throw py::value_error("threads: wanted 1 to 4096, found " + std::to_string(threads));
}

/// A parameter that a kernel reads as float32: a positive number that is not subnormal there.
template <class Real>
void check_positive(char const* name, Real x) {
  constexpr double least = std::numeric_limits<float>::min(),
                   most = std::numeric_limits<float>::max();
  if (!(static_cast<double>(x) >= least && static_cast<double>(x) <= most))
    throw py::value_error(std::string(name) + ": must be positive and finite in float32");
}

/// Rows padded to the width of a vector, K of their values used.
inline void check_padding(char const* name, std::int64_t stride, std::int32_t topics) {
  if (stride % kPad != 0 || topics < 1 || topics > stride)
    throw py::value_error(std::string(name) +
                          ": rows must be padded to a multiple of 16 and hold K values");
}

/// Dirichlet parameters of documents as Python gives them: one number for all topics, or one for
/// each, (stride).
using Alpha = std::variant<double, Array<float>>;

/// They, checked, in the forms that kernels read; pads are 0.
struct Alphas {
  struct alignas(64) Lanes {
    float lane[kPad];
  };
  std::vector<double> doubles;
  std::vector<Lanes> each, share;  // share: by the largest
  float most;
  double total;
  Alphas(Alpha const& alpha, std::int32_t topics, std::int64_t stride);  // bind_documents.cpp
};

/// Documents over `rows` rows, checked (bind_documents.cpp).
Csr csr_of(Array<std::int64_t> const& indptr, Array<std::int32_t> const& indices,
           Array<std::int32_t> const& counts, std::int64_t rows);

/// A task over these documents, of which nothing else is said yet.
template <class Task>
Task task_over(Csr const& documents) {
  Task task{};
  static_cast<Csr&>(task) = documents;
  return task;
}

/// Entities of `n` documents: by whom their randomness is keyed (bind_documents.cpp).
std::uint64_t const* entities_of(Array<std::int64_t> const& doc_ids, std::int64_t n);

/// Topics of tokens, -1 or in [0, K), and where each document's begin (bind_documents.cpp).
void check_tokens(Array<std::int32_t> const& z, Array<std::int64_t> const& token_ptr,
                  Csr const& documents, std::int32_t topics);

/// A matrix, not initialised, in memory of the workspace that goes back to it when Python lets go
/// of the array. Its rows start on cache lines where the stride is one of `padded`.
template <class T>
Array<T> lent(Workspace& work, std::int64_t rows, std::int64_t stride) {
  auto memory = std::make_unique<Lent<T>>(work, rows * stride);
  py::capsule const owner(memory.get(), [](void* p) { delete static_cast<Lent<T>*>(p); });
  T* const data = memory.release()->data();
  return Array<T>({rows, stride}, data, owner);
}

/// A new C-contiguous array whose rows start on cache lines.
template <class T>
Array<T> aligned(std::initializer_list<std::int64_t> shape, bool zero) {
  std::size_t bytes = sizeof(T);
  std::vector<py::ssize_t> dims;
  for (std::int64_t n : shape) {
    dims.push_back(n);
    bytes *= static_cast<std::size_t>(n);
  }
  constexpr std::align_val_t line{64};
  void* const data = ::operator new(bytes + 64, line);
  if (zero) std::memset(data, 0, bytes);
  py::capsule owner(data, [](void* p) { ::operator delete(p, std::align_val_t{64}); });
  return Array<T>(dims, static_cast<T*>(data), owner);
}

inline Address address(std::uint64_t seed, std::uint32_t chain, std::uint64_t step,
                       std::uint32_t stream = 0) {
  return {seed, chain, stream, step};
}

}  // namespace sgmc::bindings
