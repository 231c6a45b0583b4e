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

nb::object sinusoidal_positions(nb::handle length_given, nb::handle d_given, nb::handle start_given,
                                nb::handle base_given, nb::handle dtype) {
  const std::int64_t length = integer_from(length_given, "length", 0), d = integer_from(d_given, "d", 0);
  const std::int64_t start = integer_from(start_given, "start");
  const double base = number_from(base_given, "base");
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

attend::RotaryPairing pairing_from(nb::handle value) {
  return choice_from(value, "pairing", {"halves", "interleaved"}) == "halves"
             ? attend::RotaryPairing::halves
             : attend::RotaryPairing::interleaved;
}

nb::object apply_rotary(nb::handle x_object, nb::handle positions_object, nb::handle base,
                        nb::handle dimensions, nb::handle pairing, nb::handle inverse_given) {
  const attend::Rotary rotary{number_from(base, "base"), integer_from(dimensions, "dimensions"),
                              pairing_from(pairing)};
  const bool inverse = flag_from(inverse_given, "inverse");
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
                               nb::handle pairing_name, nb::handle inverse_given) {
  const attend::RotaryPairing pairing = pairing_from(pairing_name);
  const bool inverse = flag_from(inverse_given, "inverse");
  const Array x(x_object, "x"), cosines(cosines_object, "cosines"), sines(sines_object, "sines");
  const Result out = ResultMaker(x).empty(x.view().shape());
  {
    const Computing computing;
    attend::apply_rotary_tables(x.view(), cosines.view(), sines.view(), pairing, out.view(), inverse);
  }
  return out.object();
}

nb::object alibi_slopes(nb::handle heads_given) {
  const std::int64_t heads = integer_from(heads_given, "heads");
  const auto slopes = attend::alibi_slopes(heads);
  return numpy_of(attend::Tensor::from<double>({heads}, std::span<const double>(slopes)));
}

attend::RelativeBuckets buckets_from(std::int64_t buckets, nb::handle max_distance,
                                     nb::handle bidirectional) {
  return {buckets, integer_from(max_distance, "max_distance"), flag_from(bidirectional, "bidirectional")};
}

std::int64_t relative_bucket(nb::handle key_minus_query, nb::handle buckets, nb::handle max_distance,
                             nb::handle bidirectional) {
  return attend::relative_bucket(integer_from(key_minus_query, "key_minus_query"),
                                 buckets_from(integer_from(buckets, "buckets"), max_distance, bidirectional));
}

nb::object relative_bias(nb::handle table_object, nb::handle queries_given, nb::handle keys_given,
                         nb::handle offset_given, nb::handle max_distance, nb::handle bidirectional) {
  const std::int64_t queries = integer_from(queries_given, "queries", 0),
                     keys = integer_from(keys_given, "keys", 0),
                     query_offset = integer_from(offset_given, "query_offset");
  const Array table(table_object, "table");
  if (table.rank() != 2)
    refuse_value("relative_bias: table has ", table.rank(), " axes, expected two: (buckets, heads)");
  const attend::RelativeBuckets buckets = buckets_from(table.view().size(0), max_distance, bidirectional);
  const Result out = ResultMaker(table).empty({table.view().size(1), queries, keys});
  {
    const Computing computing;
    attend::relative_bias(table.view(), buckets, query_offset, out.view());
  }
  return out.object();
}

nb::object relative_bias_backward(nb::handle d_bias_object, nb::handle buckets_given, nb::handle offset_given,
                                  nb::handle max_distance, nb::handle bidirectional) {
  const attend::RelativeBuckets buckets =
      buckets_from(integer_from(buckets_given, "buckets", 0), max_distance, bidirectional);
  const std::int64_t query_offset = integer_from(offset_given, "query_offset");
  const Array d_bias(d_bias_object, "d_bias");
  if (d_bias.rank() != 3)
    refuse_value("relative_bias_backward: d_bias has ", d_bias.rank(),
                 " axes, expected three: (heads, queries, keys)");
  const Result d_table = ResultMaker(d_bias).empty({buckets.buckets, d_bias.view().size(0)});
  {
    const Computing computing;
    attend::reference::relative_bias_backward(d_bias.view(), buckets, query_offset, d_table.view());
  }
  return d_table.object();
}

}  // namespace

void bind_positions(nb::module_& module) {
  module.def("sinusoidal_positions", &sinusoidal_positions, nb::arg("length").none(), nb::arg("d").none(),
             nb::arg("start").none() = 0, nb::arg("base").none() = 10000.0,
             nb::arg("dtype").none() = "float32",
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
      nb::arg("base").none() = 10000.0, nb::arg("dimensions").none() = 0,
      nb::arg("pairing").none() = "halves", nb::arg("inverse").none() = false,
      nb::sig("def apply_rotary(x: A, positions: Integers, base: float = 10000.0, dimensions: int = 0, "
              "pairing: typing.Literal['halves', 'interleaved'] = 'halves', inverse: bool = False) -> A"),
      "Turns each pair of elements of x (..., L, d) by an angle that grows with the position; inverse turns "
      "back.");
  module.def(
      "apply_rotary_tables", &apply_rotary_tables, nb::arg("x").none(), nb::arg("cosines").none(),
      nb::arg("sines").none(), nb::arg("pairing").none() = "halves", nb::arg("inverse").none() = false,
      nb::sig("def apply_rotary_tables(x: A, cosines: Array, sines: Array, "
              "pairing: typing.Literal['halves', 'interleaved'] = 'halves', inverse: bool = False) -> A"),
      "Turns each pair of elements of x (..., L, d) by a cosine and a sine from tables (..., L, pairs), "
      "which broadcast over the "
      "rows of x; inverse turns back.");
  module.def("alibi_slopes", &alibi_slopes, nb::arg("heads").none(),
             nb::sig("def alibi_slopes(heads: int) -> numpy.typing.NDArray[numpy.float64]"),
             "ALiBi's slopes for that many heads.");
  module.def("relative_bucket", &relative_bucket, nb::arg("key_minus_query").none(),
             nb::arg("buckets").none() = 32, nb::arg("max_distance").none() = 128,
             nb::arg("bidirectional").none() = true,
             nb::sig("def relative_bucket(key_minus_query: int, buckets: int = 32, max_distance: int = 128, "
                     "bidirectional: bool = True) -> int"),
             "The bucket of a distance, as in T5 and MPNet.");
  module.def("relative_bias", &relative_bias, nb::arg("table").none(), nb::arg("queries").none(),
             nb::arg("keys").none(), nb::arg("query_offset").none() = 0, nb::arg("max_distance").none() = 128,
             nb::arg("bidirectional").none() = true,
             nb::sig("def relative_bias(table: A, queries: int, keys: int, query_offset: int = 0, "
                     "max_distance: int = 128, "
                     "bidirectional: bool = True) -> A"),
             "A bias (heads, queries, keys) from a learned table (buckets, heads).");
  module.def("relative_bias_backward", &relative_bias_backward, nb::arg("d_bias").none(),
             nb::arg("buckets").none(), nb::arg("query_offset").none() = 0,
             nb::arg("max_distance").none() = 128, nb::arg("bidirectional").none() = true,
             nb::sig("def relative_bias_backward(d_bias: A, buckets: int, query_offset: int = 0, "
                     "max_distance: int = 128, bidirectional: bool = True) -> A"),
             "The gradient of relative_bias()'s table of so many buckets, (buckets, heads).");
}

}  // namespace attend_python
