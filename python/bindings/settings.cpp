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
  module.def("isa", &attend::isa, "The instruction set in use.");
  module.def("available_isas", &attend::available_isas,
             "Those that this build has and this machine can run, best first.");
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
