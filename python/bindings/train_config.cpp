// ConfigCore: the configuration of a training, behind attend.train.Config.
#include <nanobind/stl/vector.h>

#include <exception>
#include <string>
#include <vector>

#include "bindings.h"
#include "draw/text_width.h"
#include "numbers.h"
#include "paths.h"
#include "train.h"

namespace attend_python {

namespace nb = nanobind;
namespace learn = attend::learn;

void bind_train_config(nb::module_& module) {
  // The sentence that the program prints.
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const learn::ConfigError& error) {
      PyErr_SetString(PyExc_ValueError, attend::draw::printable(error.key + ": " + error.what()).c_str());
    }
  });
  nb::class_<ConfigCore>(module, "ConfigCore", "The configuration of a training, behind attend.train.Config.")
      .def_static(
          "of_task",
          [](nb::handle task) { return ConfigCore{learn::default_config(name_from(task, "task"))}; },
          nb::arg("task").none(), nb::sig("def of_task(task: str) -> ConfigCore"))
      .def_static(
          "read", [](nb::handle file) { return ConfigCore{learn::read_config(path_from(file, "file"))}; },
          nb::arg("file").none(), nb::sig("def read(file: str | os.PathLike[str]) -> ConfigCore"))
      .def(
          "set",
          [](ConfigCore& self, const std::string& key, const std::string& value) {
            learn::set_key(self.config, key, value);
          },
          nb::arg("key"), nb::arg("value"))
      .def("check", [](const ConfigCore& self) { learn::check(self.config); })
      .def("copy", [](const ConfigCore& self) { return ConfigCore{self.config}; })
      .def("json", [](const ConfigCore& self) { return learn::to_json(self.config); });
  module.def("train_tasks", [] {
    std::vector<std::string> names;
    for (const std::string_view name : learn::task_names()) names.emplace_back(name);
    return names;
  });
}

}  // namespace attend_python
