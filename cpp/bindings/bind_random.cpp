#include "bindings.hpp"
#include "sgmc/parallel.hpp"

#define SGMC_STRING_(x) #x
#define SGMC_STRING(x) SGMC_STRING_(x)

namespace sgmc::bindings {

KernelTable const*& active_kernels() {
  static KernelTable const* active = &kernels("");
  return active;
}

void bind_random(py::module_& m) {
#if defined(__clang__)
  m.attr("compiler") = "Clang " __clang_version__;
#else
  m.attr("compiler") = "GCC " __VERSION__;
#endif
  m.attr("openmp") = SGMC_STRING(_OPENMP);
  m.attr("ROW_PAD") = kPad;
  m.attr("UNIT") = static_cast<std::int64_t>(kUnit);
  m.attr("PHI_FLOOR") = kPhiFloor;
  m.attr("MAX_COLLECTED") = kMaxCollected;
  m.attr("MAX_SWEEPS") = kMaxSweeps;
  m.attr("MAX_DRAWS") = kMaxDraws;
  m.attr("LEAST_STEP") = kLeastStep;
  py::enum_<Purpose>(m, "Purpose")
      .value("init", Purpose::init)
      .value("documents", Purpose::documents)
      .value("scir_pass", Purpose::scir_pass)
      .value("scir_small_gamma", Purpose::scir_small_gamma)
      .value("scir_poisson", Purpose::scir_poisson)
      .value("scir_gamma", Purpose::scir_gamma)
      .value("sgrld_noise", Purpose::sgrld_noise)
      .value("scir_log", Purpose::scir_log)
      .value("epoch_order", Purpose::epoch_order)
      .value("holdout_choice", Purpose::holdout_choice)
      .value("holdout_split", Purpose::holdout_split)
      .value("evaluation", Purpose::evaluation)
      .value("point_evaluation", Purpose::point_evaluation)
      .value("infer", Purpose::infer)
      .value("minibatch_choice", Purpose::minibatch_choice)
      .value("scale_refresh", Purpose::scale_refresh)
      .value("catch_up_pass", Purpose::catch_up_pass)
      .value("catch_up_small_gamma", Purpose::catch_up_small_gamma)
      .value("catch_up_poisson", Purpose::catch_up_poisson)
      .value("catch_up_gamma", Purpose::catch_up_gamma)
      .value("look_pass", Purpose::look_pass)
      .value("look_small_gamma", Purpose::look_small_gamma)
      .value("look_poisson", Purpose::look_poisson)
      .value("look_gamma", Purpose::look_gamma)
      .value("stream_order", Purpose::stream_order)
      .value("tlasgr_noise", Purpose::tlasgr_noise)
      .value("smld_noise", Purpose::smld_noise)
      .value("shape_noise", Purpose::shape_noise)
      .value("shape_gibbs", Purpose::shape_gibbs)
      .value("slices", Purpose::slices)
      .value("stick_noise", Purpose::stick_noise)
      .value("toy_noise", Purpose::toy_noise)
      .value("sphere_noise", Purpose::sphere_noise)
      .value("sphere_accept", Purpose::sphere_accept)
      .value("alpha_evidence", Purpose::alpha_evidence)
      .value("eta_slice", Purpose::eta_slice)
      .value("walk_noise", Purpose::walk_noise)
      .value("walk_accept", Purpose::walk_accept)
      .value("sgrhmc_noise", Purpose::sgrhmc_noise)
      .value("test", Purpose::test);
  m.def("isa", [] { return std::string(active_kernels()->name); });
  m.def("available_isas", &available_isas);
  m.def(
      "use_isa", [](std::string const& name) { active_kernels() = &kernels(name); },
      py::arg("name"));

  m.def(
      "permute",
      [](Array<std::int64_t> const& position, std::int64_t n, std::uint64_t seed,
         std::uint32_t chain, Purpose purpose, std::uint64_t step) {
        check_shape(position, "position", {-1});
        std::int64_t const count = position.shape(0);
        if (n < 0) throw py::value_error("n: must be >= 0");
        for (std::int64_t i = 0; i < count; ++i)
          if (position.data()[i] < 0 || position.data()[i] >= n)
            throw py::value_error("position: " + std::to_string(position.data()[i]) +
                                  " is not in [0, " + std::to_string(n) + ")");
        Array<std::int64_t> out(count);
        Address const a = address(seed, chain, step);
        auto* const to = out.mutable_data();
        auto const* const from = position.data();
        without_lock([&] { active_kernels()->random.permute(from, count, n, a, purpose, to); });
        return out;
      },
      py::arg("position"), py::arg("n"), py::arg("seed"), py::arg("chain"), py::arg("purpose"),
      py::arg("step"));
  m.def(
      "uniforms",
      [](Array<std::int64_t> const& entity, Array<std::int64_t> const& ordinal, std::uint64_t seed,
         std::uint32_t chain, Purpose purpose, std::uint64_t step) {
        check_shape(entity, "entity", {-1});
        std::int64_t const count = entity.shape(0);
        check_shape(ordinal, "ordinal", {count});
        Array<double> out(count);
        active_kernels()->random.uniforms(entity.data(), ordinal.data(), count,
                                          address(seed, chain, step), purpose, out.mutable_data());
        return out;
      },
      py::arg("entity"), py::arg("ordinal"), py::arg("seed"), py::arg("chain"), py::arg("purpose"),
      py::arg("step"));
  m.def(
      "startable_threads",
      [](int wanted) {
        check_threads(wanted);
        return without_lock([&] { return startable_threads(wanted); });
      },
      py::arg("wanted"));
  m.def(
      "zeros",
      [](std::int64_t rows, std::int64_t columns, std::string const& dtype) -> py::object {
        if (dtype == "float32") return aligned<float>({rows, columns}, true);
        if (dtype == "float64") return aligned<double>({rows, columns}, true);
        if (dtype == "int64") return aligned<std::int64_t>({rows, columns}, true);
        throw py::value_error("dtype: wanted float32, float64 or int64, found '" + dtype + "'");
      },
      py::arg("rows"), py::arg("columns"), py::arg("dtype"));
}

}  // namespace sgmc::bindings
