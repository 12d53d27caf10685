// Functions that only tests call.
#include <iterator>

#include "bindings.hpp"

namespace sgmc::bindings {

void bind_testing(py::module_& m) {
  m.def(
      "philox",
      [](Array<std::uint32_t> const& counter, Array<std::uint32_t> const& key) {
        check_shape(counter, "counter", {-1, 4});
        std::int64_t const n = counter.shape(0);
        check_shape(key, "key", {n, 2});
        Array<std::uint32_t> out({n, std::int64_t{4}});
        active_kernels()->testing.philox(counter.data(), key.data(), n, out.mutable_data());
        return out;
      },
      py::arg("counter"), py::arg("key"));
  m.def(
      "row_words",
      [](Array<std::uint32_t> const& state, std::int64_t n) {
        check_shape(state, "state", {4, kPad});
        if (n < 0) throw py::value_error("n: must be >= 0");
        Array<std::uint32_t> out({n, std::int64_t{kPad}});
        active_kernels()->testing.row_words(state.data(), n, out.mutable_data());
        return out;
      },
      py::arg("state"), py::arg("n"));
  m.def(
      "draw",
      [](std::string const& kind, Array<float> const& parameter, std::uint64_t seed,
         std::uint64_t step) {
        static constexpr char const* kinds[] = {
            "normal", "gamma",   "poisson", "uniform24", "uniform_open", "log",    "exp",
            "expm1m", "digamma", "sine",    "cosine",    "truncated",    "rounded"};
        int which = -1;
        for (int i = 0; i < static_cast<int>(std::size(kinds)); ++i)
          if (kind == kinds[i]) which = i;
        if (which < 0) throw py::value_error("kind: no sampler called '" + kind + "'");
        check_shape(parameter, "parameter", {-1});
        Array<float> out(parameter.shape(0));
        active_kernels()->testing.draw(which, parameter.data(), parameter.shape(0),
                                       address(seed, 0, step), out.mutable_data());
        return out;
      },
      py::arg("kind"), py::arg("parameter"), py::arg("seed"), py::arg("step") = 0);
  m.def(
      "latent_counts",
      [](std::string const& link, Array<double> const& parameter, std::uint64_t seed,
         std::uint64_t step) {
        check_shape(parameter, "parameter", {-1});
        Link const kind = link_of(link);
        if (kind == Link::counts) throw py::value_error("link: wanted binary or real");
        Array<std::int64_t> out(parameter.shape(0));
        active_kernels()->testing.latent_counts(kind, parameter.data(), parameter.shape(0),
                                                address(seed, 0, step), out.mutable_data());
        return out;
      },
      py::arg("link"), py::arg("parameter"), py::arg("seed"), py::arg("step") = 0);
}

}  // namespace sgmc::bindings
