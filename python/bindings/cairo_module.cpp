// The extension module attend._cairo: figures as PNG and PDF.
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <string>
#include <vector>

#include "draw_cairo/save_figure.h"
#include "figure.h"

namespace nb = nanobind;

NB_MODULE(_cairo, module) {
  nb::module_::import_("attend._core");  // which knows FigureCore, and what errors become
  module.def(
      "save",
      [](const attend_python::FigureCore& core, const std::filesystem::path& path, double width,
         double scale) {
        const nb::gil_scoped_release released;
        const auto format = *attend::draw::page_format_of(path);
        return attend::draw::save_figure(core.figure, path, format,
                                         {.page = {.width = width}, .scale = scale});
      },
      nb::arg("figure"), nb::arg("path"), nb::arg("width"), nb::arg("scale"),
      "Writes a .png or .pdf, completely or not at all. Returns sentences about what could not be drawn.");
}
