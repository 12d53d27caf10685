#include "bindings.hpp"

PYBIND11_MODULE(_core, m) {
  m.doc() = "Kernels of sgmc: arrays in, arrays out. See _core.pyi for the contracts.";
  sgmc::bindings::bind_random(m);
  sgmc::bindings::bind_documents(m);
  sgmc::bindings::bind_baselines(m);
  sgmc::bindings::bind_deep(m);
  sgmc::bindings::bind_simplex(m);
}
