#include "ids.h"

#include <nanobind/ndarray.h>

#include <limits>
#include <string>
#include <utility>

#include "errors.h"
#include "numbers.h"

namespace attend_python {

namespace nb = nanobind;

Ids::Ids(nb::handle object, const char* name) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  const nb::object given = numpy.attr("asarray")(object);
  const nb::object dtype = given.attr("dtype");
  const auto kind = nb::cast<std::string>(dtype.attr("kind"));
  const bool empty = nb::cast<std::size_t>(given.attr("size")) == 0;  // an empty list has no type
  if (kind != "i" && kind != "u" && !empty) {
    refuse_type(name, " must be whole numbers, not ", nb::cast<std::string>(nb::str(dtype)));
  }
  if (nb::cast<std::size_t>(given.attr("ndim")) >= attend::kMaxRank) {
    refuse_value(name, " has ", nb::cast<std::size_t>(given.attr("ndim")), " axes, expected at most ",
                 attend::kMaxRank - 1);
  }
  for (const nb::handle size : given.attr("shape")) {
    shape = shape.with(shape.rank(), nb::cast<std::int64_t>(size));
  }
  if (!empty) {
    for (const char* const extreme : {"min", "max"}) {
      const std::int64_t id = integer_from(given.attr(extreme)(), name);
      if (id < std::numeric_limits<std::int32_t>::min() || id > std::numeric_limits<std::int32_t>::max()) {
        refuse_value(name, " holds ", id, ", which does not fit 32 bits");
      }
    }
  }
  using Wide = nb::ndarray<const std::int64_t, nb::c_contig, nb::device::cpu>;
  const auto wide = nb::cast<Wide>(numpy.attr("ascontiguousarray")(given, "int64"));
  values.reserve(wide.size());
  for (std::size_t i = 0; i < wide.size(); ++i) values.push_back(static_cast<std::int32_t>(wide.data()[i]));
}

std::vector<std::int32_t> ids_of_text(nb::handle object, const char* name) {
  Ids ids(object, name);
  if (ids.shape.rank() != 1) refuse_value(name, " have ", ids.shape.rank(), " axes, expected one");
  return std::move(ids.values);
}

}  // namespace attend_python
