// How many threads, which instruction set.
#include <attend/isa.h>
#include <attend/threads.h>

#include <nanobind/stl/vector.h>

#include <string>

#include "bindings.h"
#include "compute.h"
#include "numbers.h"

namespace attend_python {

namespace nb = nanobind;

void bind_settings(nb::module_& module) {
  module.def("threads", &attend::threads, nb::sig("def threads() -> int"),
             "How many threads the library uses; results do not depend on it.");
  module.def(
      "set_threads",
      [](nb::handle given) {
        const std::int64_t count = integer_from(given, "count");
        const ChangingSettings changing;
        attend::set_threads(count);
      },
      nb::arg("count").none(), nb::sig("def set_threads(count: int) -> None"),
      "Waits for the calls that run, then sets the number of threads; 0 = back to the default.");
  module.def(
      "isa", [](nb::handle precision) { return attend::isa(precision_from(precision)); },
      nb::arg("precision").none() = "f32", nb::sig("def isa(precision: Precision = 'f32') -> str"),
      "The instruction set in use for a precision.");
  module.def(
      "available_isas",
      [](nb::handle precision) { return attend::available_isas(precision_from(precision)); },
      nb::arg("precision").none() = "f32",
      nb::sig("def available_isas(precision: Precision = 'f32') -> list[str]"),
      "Those that this build has and this machine can run, best first, of those that compute in this "
      "precision in different ways.");
  module.def(
      "set_isa",
      [](nb::handle given) {
        const std::string name = name_from(given, "name");
        const ChangingSettings changing;
        attend::set_isa(name);
      },
      nb::arg("name").none(), nb::sig("def set_isa(name: str) -> None"),
      "Waits for the calls that run, then sets the instruction set; \"\" = back to the default.");
}

}  // namespace attend_python
