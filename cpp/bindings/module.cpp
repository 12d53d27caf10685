#include "bindings.hpp"

namespace {

/// A value that is not finite has its own exit code, hence an exception of the package.
void translate(std::exception_ptr error) {
  try {
    if (error) std::rethrow_exception(error);
  } catch (sgmc::NotFinite const& found) {
    auto const kind = pybind11::module_::import("pysgrld.errors").attr("NumericalError");
    pybind11::set_error(kind, found.what());
  }
}

}  // namespace

PYBIND11_MODULE(_core, m) {
  m.doc() = "Kernels of sgmc: arrays in, arrays out. See _core.pyi for the contracts.";
  pybind11::register_local_exception_translator(&translate);
  sgmc::bindings::bind_random(m);
  sgmc::bindings::bind_documents(m);
  sgmc::bindings::bind_baselines(m);
  sgmc::bindings::bind_deep(m);
  sgmc::bindings::bind_simplex(m);
  sgmc::bindings::bind_sphere(m);
  sgmc::bindings::bind_walk(m);
  sgmc::bindings::bind_elementary(m);
  sgmc::bindings::bind_output(m);
  sgmc::bindings::bind_testing(m);
}
