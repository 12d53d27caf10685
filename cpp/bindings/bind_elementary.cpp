#include "bindings.hpp"

namespace sgmc::bindings {
namespace {

using Function = void (*)(double const*, std::int64_t, double*) noexcept;

/// Defines a function of every element of an array of any shape.
void define(py::module_& m, char const* name, Function ElementaryKernels::*of) {
  m.def(
      name,
      [of](Array<double> const& x) {
        Array<double> out(std::vector<py::ssize_t>(x.shape(), x.shape() + x.ndim()));
        double const* const in = x.data();
        double* const data = out.mutable_data();
        Function const function = active_kernels()->elementary.*of;
        without_lock([&] { function(in, out.size(), data); });
        return out;
      },
      py::arg("x").noconvert());
}

}  // namespace

void bind_elementary(py::module_& m) {
  define(m, "log", &ElementaryKernels::log);
  define(m, "log1p", &ElementaryKernels::log1p);
  define(m, "exp", &ElementaryKernels::exp);
  define(m, "cospi", &ElementaryKernels::cospi);
  m.def(
      "product",
      [](Array<double> const& a, Array<double> const& b) {
        check_shape(a, "a", {-1, -1});
        check_shape(b, "b", {a.shape(1), -1});
        Array<double> out({a.shape(0), b.shape(1)});
        double const *const left = a.data(), *const right = b.data();
        double* const data = out.mutable_data();
        std::int64_t const rows = a.shape(0), inner = a.shape(1), columns = b.shape(1);
        KernelTable const& k = *active_kernels();
        without_lock([&] { k.elementary.product(left, right, rows, inner, columns, data); });
        return out;
      },
      py::arg("a").noconvert(), py::arg("b").noconvert());
}

}  // namespace sgmc::bindings
