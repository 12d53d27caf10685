// pysgrld.corpus._wikitext: a module of its own, so that reading a dump needs no kernels.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "../text/wikitext.hpp"

namespace py = pybind11;

namespace {

std::string_view view(py::handle document) {
  char* data = nullptr;
  Py_ssize_t size = 0;
  if (PyBytes_AsStringAndSize(document.ptr(), &data, &size) != 0) throw py::error_already_set();
  return {data, static_cast<std::size_t>(size)};
}

class Stripper {
 public:
  Stripper(std::vector<std::string> const& files, std::vector<std::string> const& categories,
           std::vector<std::pair<std::string, std::string>> const& entities) {
    wiki_.files.insert(files.begin(), files.end());
    wiki_.categories.insert(categories.begin(), categories.end());
    for (auto const& [name, text] : entities) {
      if (text.size() > name.size() + 2)
        throw py::value_error("entities: '" + name + "' stands for more bytes than &" + name + ";");
      wiki_.entities.emplace(name, text);
    }
  }

  py::list strip(py::tuple const& documents) const {
    std::vector<std::string_view> sources;
    std::vector<std::size_t> ends;
    std::size_t total = 0;
    for (py::handle const document : documents)
      total += sources.emplace_back(view(document)).size();
    std::unique_ptr<char[]> const text(new char[total]);
    {
      py::gil_scoped_release const release;  // the tuple keeps the documents, which never change
      std::size_t end = 0, work = 0;
      for (std::string_view const source : sources) {
        end += sgmc::text::strip(wiki_, source, text.get() + end, work);
        ends.push_back(end);
      }
    }
    py::list out(ends.size());
    for (std::size_t i = 0, begin = 0; i < ends.size(); begin = ends[i], ++i)
      out[i] = py::bytes(text.get() + begin, ends[i] - begin);
    return out;
  }

  std::size_t work(py::bytes const& document) const {
    std::string_view const source = view(document);
    std::unique_ptr<char[]> const text(new char[source.size()]);
    std::size_t work = 0;
    sgmc::text::strip(wiki_, source, text.get(), work);
    return work;
  }

 private:
  sgmc::text::Wiki wiki_;
};

}  // namespace

PYBIND11_MODULE(_wikitext, m) {
  m.doc() = "MediaWiki markup out, prose left. See _wikitext.pyi.";
  py::class_<Stripper>(m, "Stripper")
      .def(py::init<std::vector<std::string> const&, std::vector<std::string> const&,
                    std::vector<std::pair<std::string, std::string>> const&>(),
           py::kw_only(), py::arg("files"), py::arg("categories"), py::arg("entities"))
      .def(
          "strip",
          [](Stripper const& self, py::list const& documents) {
            return self.strip(py::tuple(documents));
          },
          py::arg("documents"))
      .def("work", &Stripper::work, py::arg("document"));
}
