// Conversions and checks only: each function here names a wrong argument and the accepted values.
#pragma once

#include <cxxabi.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "sgmc/dispatch.hpp"
#include "sgmc/drivers.hpp"

namespace sgmc::bindings {

namespace py = pybind11;

/// A C-contiguous array of T with aligned values. Other arguments are copied to such an array, or
/// refused if the kernel writes to the argument (`noconvert`).
template <class T>
class Array
    : public py::array_t<T, +py::array::c_style | +py::detail::npy_api::NPY_ARRAY_ALIGNED_> {
  using Base = py::array_t<T, +py::array::c_style | +py::detail::npy_api::NPY_ARRAY_ALIGNED_>;

 public:
  using Base::Base;
  /// Whether an object already is such an array.
  static bool check_(py::handle object) {
    return Base::check_(object) &&
           py::detail::check_flags(object.ptr(), py::detail::npy_api::NPY_ARRAY_ALIGNED_);
  }
};

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

/// The link with the given name (bind_deep.cpp).
Link link_of(std::string const& name);

/// The kernels in use; `use_isa` changes them (bind_random.cpp).
KernelTable const*& active_kernels();

/// Releases the interpreter's lock for other threads during its lifetime.
class WithoutLock {
 public:
  WithoutLock() : thread_(PyEval_SaveThread()) {}
  ~WithoutLock() {
#if defined(__GLIBCXX__)
    // When Python ends, a daemon thread does not get the lock again: before 3.14 it is unwound
    // here, and the first destructor aborts the process (134). Waiting avoids this.
    try {
      PyEval_RestoreThread(thread_);
    } catch (abi::__forced_unwind const&) {
      for (;;) pause();
    }
#else
    PyEval_RestoreThread(thread_);
#endif
  }
  WithoutLock(WithoutLock const&) = delete;
  WithoutLock& operator=(WithoutLock const&) = delete;

 private:
  PyThreadState* thread_;
};

/// Calls a kernel without the interpreter's lock, and takes the lock again afterwards; without the
/// lock, no Python object may be created, copied or destroyed.
template <class Kernel>
auto without_lock(Kernel&& kernel) {
  using Result = decltype(kernel());
  static_assert(std::is_void_v<Result> || std::is_arithmetic_v<Result>);
  WithoutLock const released;
  return kernel();
}

/// Number of values in an array of this shape; throws if the shape has none, or if they take more
/// bytes than exist.
inline std::size_t values_of(std::initializer_list<std::int64_t> shape, std::size_t bytes) {
  std::size_t n = 1;
  for (std::int64_t const size : shape) {
    if (size < 0) throw py::value_error("shape: must not be negative");
    if (__builtin_mul_overflow(n, static_cast<std::size_t>(size), &n)) throw std::bad_alloc();
  }
  if (n > (std::size_t{1} << 62) / bytes) throw std::bad_alloc();
  return n;
}

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

/// Checks a parameter that a kernel reads as float32, which must be positive and not subnormal.
template <class Real>
void check_positive(char const* name, Real x) {
  constexpr double least = std::numeric_limits<float>::min(),
                   most = std::numeric_limits<float>::max();
  if (!(static_cast<double>(x) >= least && static_cast<double>(x) <= most))
    throw py::value_error(std::string(name) + ": must be positive and finite in float32");
}

/// Checks that rows are padded to the width of a vector, with K of their values used.
inline void check_padding(char const* name, std::int64_t stride, std::int64_t topics) {
  if (stride % kPad != 0 || topics < 1 || topics > stride)
    throw py::value_error(std::string(name) +
                          ": rows must be padded to a multiple of 16 and hold K values");
}

/// Dirichlet parameters of documents as given by Python: one number for all topics, or one per
/// topic, (stride).
using Alpha = std::variant<double, Array<float>>;

/// The checked parameters in the forms that kernels read; pads are 0.
struct Alphas {
  struct alignas(64) Lanes {
    float lane[kPad];
  };
  std::vector<double> doubles;
  std::vector<Lanes> each, share;  // share: divided by the largest
  float most;
  double total;
  Alphas(Alpha const& alpha, std::int32_t topics, std::int64_t stride);  // bind_documents.cpp
};

/// Checks documents over `rows` rows, and returns them (bind_documents.cpp).
Csr csr_of(Array<std::int64_t> const& indptr, Array<std::int32_t> const& indices,
           Array<std::int32_t> const& counts, std::int64_t rows);

/// A task over these documents; all other fields have their defaults.
template <class Task>
Task task_over(Csr const& documents) {
  Task task{};
  static_cast<Csr&>(task) = documents;
  return task;
}

/// Entities of `n` documents, which key the documents' randomness (bind_documents.cpp).
std::uint64_t const* entities_of(Array<std::int64_t> const& doc_ids, std::int64_t n);

/// Checks topics of tokens, -1 or in [0, K), and the position of each document's first token
/// (bind_documents.cpp).
void check_tokens(Array<std::int32_t> const& z, Array<std::int64_t> const& token_ptr,
                  Csr const& documents, std::int32_t topics);

/// An uninitialised matrix in memory of the workspace, which gets the memory back when Python
/// releases the array. Rows start on cache lines if the stride is one of `padded_width`.
template <class T>
Array<T> lent(Workspace& work, std::int64_t rows, std::int64_t stride) {
  values_of({rows, stride}, sizeof(T));
  auto memory = std::make_unique<Lent<T>>(work, rows * stride);
  py::capsule const owner(memory.get(), [](void* p) { delete static_cast<Lent<T>*>(p); });
  T* const data = memory.release()->data();
  return Array<T>({rows, stride}, data, owner);
}

/// A new C-contiguous array whose rows start on cache lines.
template <class T>
Array<T> aligned(std::initializer_list<std::int64_t> shape, bool zero) {
  std::size_t const bytes = values_of(shape, sizeof(T)) * sizeof(T);
  std::vector<py::ssize_t> const dims(shape.begin(), shape.end());
  constexpr std::uintptr_t line = 64;
  // Aligned here: the C library before glibc 2.38 may not use memory again that it aligned, so that
  // a report took 800 MB instead of 230.
  // nothrow: under sanitizers, the other form ends the process when memory runs out
  void* const memory = ::operator new(bytes + 2 * line, std::nothrow);
  if (!memory) throw std::bad_alloc();
  py::capsule owner(memory, [](void* p) { ::operator delete(p); });
  auto const begin = (reinterpret_cast<std::uintptr_t>(memory) + line - 1) & ~(line - 1);
  void* const data = reinterpret_cast<void*>(begin);
  if (zero) std::memset(data, 0, bytes);
  return Array<T>(dims, static_cast<T*>(data), owner);
}

inline Address address(std::uint64_t seed, std::uint32_t chain, std::uint64_t step,
                       std::uint32_t stream = 0) {
  return {seed, chain, stream, step};
}

}  // namespace sgmc::bindings

/// As in `array_t`, whose own check ignores alignment.
template <class T>
struct pybind11::detail::pyobject_caster<sgmc::bindings::Array<T>> {
  using type = sgmc::bindings::Array<T>;
  bool load(handle source, bool convert) {
    if (!convert && !type::check_(source)) return false;
    value = reinterpret_borrow<type>(type::ensure(source));
    return static_cast<bool>(value);
  }
  static handle cast(handle const& source, return_value_policy, handle) { return source.inc_ref(); }
  PYBIND11_TYPE_CASTER(type, (handle_type_name<array_t<T, array::c_style>>::name));
};
