// Position information.
#include <attend/positions.h>
#include <attend/reference.h>

#include <string>

#include "bindings.h"
#include "compute.h"
#include "errors.h"
#include "options.h"
#include "results.h"

namespace attend_python {
namespace {

nb::object sinusoidal_positions(std::int64_t length, std::int64_t d, std::int64_t start, double base,
                                nb::handle dtype) {
  if (length < 0 || d < 0)
    refuse_value("sinusoidal_positions: length is ", length, " and d is ", d, ", expected numbers from 0");
  const Result out(numpy_empty({length, d}, dtype_from(dtype)));
  {
    const Computing computing;
    attend::sinusoidal_positions(out.view(), start, base);
  }
  return out.object();
}

nb::object add_learned_positions(nb::handle x_object, nb::handle table_object, nb::handle positions_object) {
  const Array x(x_object, "x"), table(table_object, "table");
  const auto positions = integers_from(positions_object, "positions");
  const Result out = ResultMaker(x).empty(x.view().shape());
  {
    const Computing computing;
    attend::add_learned_positions(x.view(), table.view(), positions, out.view());
  }
  return out.object();
}

attend::RotaryPairing pairing_from(const std::string& name) {
  if (name == "halves") return attend::RotaryPairing::halves;
  if (name == "interleaved") return attend::RotaryPairing::interleaved;
  refuse_value("pairing is \"", name, "\", expected \"halves\" or \"interleaved\"");
}

nb::object apply_rotary(nb::handle x_object, nb::handle positions_object, double base,
                        std::int64_t dimensions, const std::string& pairing, bool inverse) {
  const attend::Rotary rotary{base, dimensions, pairing_from(pairing)};
  const Array x(x_object, "x");
  const auto positions = integers_from(positions_object, "positions");
  const Result out = ResultMaker(x).empty(x.view().shape());
  {
    const Computing computing;
    attend::apply_rotary(x.view(), positions, rotary, out.view(), inverse);
  }
  return out.object();
}

nb::object apply_rotary_tables(nb::handle x_object, nb::handle cosines_object, nb::handle sines_object,
                               const std::string& pairing_name, bool inverse) {
  const attend::RotaryPairing pairing = pairing_from(pairing_name);
  const Array x(x_object, "x"), cosines(cosines_object, "cosines"), sines(sines_object, "sines");
  const Result out = ResultMaker(x).empty(x.view().shape());
  {
    const Computing computing;
    attend::apply_rotary_tables(x.view(), cosines.view(), sines.view(), pairing, out.view(), inverse);
  }
  return out.object();
}

nb::object alibi_slopes(std::int64_t heads) {
  const auto slopes = attend::alibi_slopes(heads);
  return numpy_of(attend::Tensor::from<double>({heads}, std::span<const double>(slopes)));
}

std::int64_t relative_bucket(std::int64_t key_minus_query, std::int64_t buckets, std::int64_t max_distance,
                             bool bidirectional) {
  return attend::relative_bucket(key_minus_query, {buckets, max_distance, bidirectional});
}

nb::object relative_bias(nb::handle table_object, std::int64_t queries, std::int64_t keys,
                         std::int64_t query_offset, std::int64_t max_distance, bool bidirectional) {
  const Array table(table_object, "table");
  if (table.rank() != 2)
    refuse_value("relative_bias: table has ", table.rank(), " axes, expected two: (buckets, heads)");
  if (queries < 0 || keys < 0)
    refuse_value("relative_bias: queries is ", queries, " and keys is ", keys, ", expected numbers from 0");
  const Result out = ResultMaker(table).empty({table.view().size(1), queries, keys});
  {
    const Computing computing;
    attend::relative_bias(table.view(), {table.view().size(0), max_distance, bidirectional}, query_offset,
                          out.view());
  }
  return out.object();
}

nb::object relative_bias_backward(nb::handle d_bias_object, std::int64_t buckets, std::int64_t query_offset,
                                  std::int64_t max_distance, bool bidirectional) {
  const Array d_bias(d_bias_object, "d_bias");
  if (d_bias.rank() != 3)
    refuse_value("relative_bias_backward: d_bias has ", d_bias.rank(),
                 " axes, expected three: (heads, queries, keys)");
  if (buckets < 0) refuse_value("relative_bias_backward: buckets is ", buckets, ", expected a number from 0");
  const Result d_table = ResultMaker(d_bias).empty({buckets, d_bias.view().size(0)});
  {
    const Computing computing;
    attend::reference::relative_bias_backward(d_bias.view(), {buckets, max_distance, bidirectional},
                                              query_offset, d_table.view());
  }
  return d_table.object();
}

}  // namespace

void bind_positions(nb::module_& module) {
  module.def("sinusoidal_positions", &sinusoidal_positions, nb::arg("length"), nb::arg("d"),
             nb::arg("start") = 0, nb::arg("base") = 10000.0, nb::arg("dtype") = "float32",
             nb::sig("def sinusoidal_positions(length: int, d: int, start: int = 0, base: float = 10000.0, "
                     "dtype: DType = 'float32') "
                     "-> numpy.typing.NDArray[typing.Any]"),
             "Sines and cosines of growing wavelength, (length, d).");
  module.def("add_learned_positions", &add_learned_positions, nb::arg("x").none(), nb::arg("table").none(),
             nb::arg("positions").none(),
             nb::sig("def add_learned_positions(x: A, table: A, positions: Integers) -> A"),
             "x[i] + table[positions[i]].");
  module.def(
      "apply_rotary", &apply_rotary, nb::arg("x").none(), nb::arg("positions").none(),
      nb::arg("base") = 10000.0, nb::arg("dimensions") = 0, nb::arg("pairing") = "halves",
      nb::arg("inverse") = false,
      nb::sig("def apply_rotary(x: A, positions: Integers, base: float = 10000.0, dimensions: int = 0, "
              "pairing: typing.Literal['halves', 'interleaved'] = 'halves', inverse: bool = False) -> A"),
      "Turns each pair of elements of x (..., L, d) by an angle that grows with the position; inverse turns "
      "back.");
  module.def(
      "apply_rotary_tables", &apply_rotary_tables, nb::arg("x").none(), nb::arg("cosines").none(),
      nb::arg("sines").none(), nb::arg("pairing") = "halves", nb::arg("inverse") = false,
      nb::sig("def apply_rotary_tables(x: A, cosines: Array, sines: Array, "
              "pairing: typing.Literal['halves', 'interleaved'] = 'halves', inverse: bool = False) -> A"),
      "Turns each pair of elements of x (..., L, d) by a cosine and a sine from tables (..., L, pairs), "
      "which broadcast over the "
      "rows of x; inverse turns back.");
  module.def("alibi_slopes", &alibi_slopes, nb::arg("heads"),
             nb::sig("def alibi_slopes(heads: int) -> numpy.typing.NDArray[numpy.float64]"),
             "ALiBi's slopes for that many heads.");
  module.def("relative_bucket", &relative_bucket, nb::arg("key_minus_query"), nb::arg("buckets") = 32,
             nb::arg("max_distance") = 128, nb::arg("bidirectional") = true,
             "The bucket of a distance, as in T5 and MPNet.");
  module.def("relative_bias", &relative_bias, nb::arg("table").none(), nb::arg("queries"), nb::arg("keys"),
             nb::arg("query_offset") = 0, nb::arg("max_distance") = 128, nb::arg("bidirectional") = true,
             nb::sig("def relative_bias(table: A, queries: int, keys: int, query_offset: int = 0, "
                     "max_distance: int = 128, "
                     "bidirectional: bool = True) -> A"),
             "A bias (heads, queries, keys) from a learned table (buckets, heads).");
  module.def("relative_bias_backward", &relative_bias_backward, nb::arg("d_bias").none(), nb::arg("buckets"),
             nb::arg("query_offset") = 0, nb::arg("max_distance") = 128, nb::arg("bidirectional") = true,
             nb::sig("def relative_bias_backward(d_bias: A, buckets: int, query_offset: int = 0, "
                     "max_distance: int = 128, bidirectional: bool = True) -> A"),
             "The gradient of relative_bias()'s table of so many buckets, (buckets, heads).");
}

}  // namespace attend_python
