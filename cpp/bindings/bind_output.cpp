#include "bindings.hpp"

namespace sgmc::bindings {

void bind_output(py::module_& m) {
  m.def(
      "decimals",
      [](Array<double> const& values, std::string const& separator, bool point) {
        check_shape(values, "values", {-1, -1});
        std::int64_t const rows = values.shape(0), n = values.shape(1);
        std::size_t const most = static_cast<std::size_t>(n) * (kDecimal + separator.size());
        std::unique_ptr<char[]> const text(new char[static_cast<std::size_t>(rows) * most + 1]);
        std::vector<std::size_t> ends;
        without_lock([&] {
          std::size_t end = 0;
          for (std::int64_t i = 0; i < rows; ++i)
            ends.push_back(end += write_decimals(values.data() + i * n, n, separator, point,
                                                 text.get() + end));
        });
        py::list out(ends.size());
        for (std::size_t i = 0, begin = 0; i < ends.size(); begin = ends[i], ++i)
          out[i] = py::bytes(text.get() + begin, ends[i] - begin);
        return out;
      },
      py::arg("values").noconvert(), py::kw_only(), py::arg("separator"), py::arg("point") = false);

  m.def(
      "greatest",
      [](Array<double> const& values, std::int64_t top) {
        check_shape(values, "values", {-1, -1});
        std::int64_t const rows = values.shape(0), n = values.shape(1);
        if (top < 0 || top > n || n > std::numeric_limits<std::int32_t>::max())
          throw py::value_error("top: wanted 0 to " + std::to_string(n) + ", found " +
                                std::to_string(top));
        Array<std::int32_t> out({rows, top});
        std::int32_t* const data = out.mutable_data();
        without_lock([&] { find_greatest(values.data(), rows, n, top, data); });
        return out;
      },
      py::arg("values").noconvert(), py::kw_only(), py::arg("top"));
}

}  // namespace sgmc::bindings
