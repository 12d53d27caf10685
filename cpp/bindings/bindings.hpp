// Conversion and checks only: every function here says which argument is wrong and what is wanted.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstring>
#include <new>
#include <optional>
#include <string>

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
void bind_simplex(py::module_& m);

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

/// Rows padded to the width of a vector, K of their values used.
inline void check_padding(char const* name, std::int64_t stride, std::int32_t topics) {
  if (stride % kPad != 0 || topics < 1 || topics > stride)
    throw py::value_error(std::string(name) +
                          ": rows must be padded to a multiple of 16 and hold K values");
}

/// Documents in CSR over `rows` rows: every id in range, every count >= 1, indptr ascending
/// (bind_documents.cpp).
void check_documents(Array<std::int64_t> const& indptr, Array<std::int32_t> const& indices,
                     Array<std::int32_t> const& counts, std::int64_t rows);

/// Topics of tokens, -1 or in [0, K), and where each document's begin (bind_documents.cpp).
void check_tokens(Array<std::int32_t> const& z, Array<std::int64_t> const& token_ptr,
                  Array<std::int64_t> const& indptr, Array<std::int32_t> const& counts,
                  std::int32_t topics);

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
