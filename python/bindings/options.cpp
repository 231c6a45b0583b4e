#include "options.h"

#include <array>
#include <string>
#include <vector>

#include "base/counting.h"
#include "errors.h"

namespace attend_python {
namespace {

constexpr std::array kNames{"scale",
                            "causal",
                            "query_offset",
                            "window",
                            "key_lengths",
                            "mask",
                            "bias",
                            "alibi_slopes",
                            "softcap",
                            "sinks",
                            "dropout",
                            "dropout_seed",
                            "cumulative_query_lengths",
                            "cumulative_key_lengths",
                            "precision"};

attend::QueryOffset query_offset_from(nb::handle value) {
  if (PyUnicode_Check(value.ptr())) {
    const auto name = nb::cast<std::string>(value);
    if (name == "top_left") return attend::QueryOffset::top_left();
    if (name == "bottom_right") return attend::QueryOffset::bottom_right();
    refuse_value("query_offset is \"", name,
                 "\", expected \"top_left\", \"bottom_right\", a number or one per sequence");
  }
  if (is_integer(value)) return integer_from(value, "query_offset");
  return integers_from(value, "query_offset");
}

std::int64_t window_side(nb::handle value) {
  if (value.is_none()) return attend::Window::kUnlimited;
  const std::int64_t side = integer_from(value, "window");
  if (side < 0) refuse_value("window is ", side, " on one side, expected None or at least 0");
  return side;
}

attend::Window window_from(nb::handle value) {
  const auto sides = items_of(value, "window");
  if (sides.size() != 2)
    refuse_value("window has ", sides.size(), " numbers, expected two: how far to the left and to the right");
  return {window_side(sides[0]), window_side(sides[1])};
}

[[noreturn]] void refuse_keyword(const char* function, const std::string& key) {
  nb::list names;
  for (const char* const name : kNames) names.append(name);
  const nb::object close = nb::module_::import_("difflib").attr("get_close_matches")(key, names, 1);
  const std::string hint =
      nb::len(close) == 0 ? "" : "; did you mean '" + nb::cast<std::string>(close[0]) + "'?";
  refuse_type(function, "() got an unexpected keyword argument '", key, "'", hint);
}

}  // namespace

attend::Indices indices_from(nb::handle object, const char* name) {
  if (object.is_none()) return attend::Indices::all();
  if (is_integer(object)) return {integer_from(object, name)};
  return integers_from(object, name);
}

attend::Indices head_indices_from(nb::handle object, std::int64_t heads) {
  const attend::Indices numbers = indices_from(object, "heads");
  if (numbers.is_all()) return numbers;
  std::vector<std::int64_t> indices;
  for (const std::int64_t number : numbers.list()) {
    if (!attend::is_number(number, heads)) refuse_value(attend::out_of_count("head", "head", number, heads));
    indices.push_back(number - 1);
  }
  return indices;
}

attend::Stage stage_from(nb::handle value) {
  const auto name = nb::cast<std::string>(nb::str(value));
  for (const auto stage :
       {attend::Stage::scores, attend::Stage::capped, attend::Stage::biased, attend::Stage::weights}) {
    if (name == attend::name_of(stage)) return stage;
  }
  refuse_value("stage is \"", name, "\", expected \"scores\", \"capped\", \"biased\" or \"weights\"");
}

Options::Options(const char* function, const nb::kwargs& keywords, const Own& own) {
  PyObject *key = nullptr, *value = nullptr;
  Py_ssize_t position = 0;
  while (PyDict_Next(keywords.ptr(), &position, &key, &value) != 0) {
    Py_ssize_t size = 0;
    const char* const text = PyUnicode_AsUTF8AndSize(key, &size);
    if (text == nullptr) throw nb::python_error();
    const std::string_view name(text, static_cast<std::size_t>(size));
    if (own && own(name, value)) continue;
    if (!take(name, value)) refuse_keyword(function, std::string(name));
  }
}

// None stands for the default everywhere.
bool Options::take(std::string_view key, nb::handle value) {
  const bool given = !value.is_none();
  if (key == "causal") {
    if (given) options_.causal = flag_from(value, "causal");
  } else if (key == "scale") {
    if (given) options_.scale = number_from(value, "scale");
  } else if (key == "mask") {
    if (given) options_.mask = mask_.emplace(value, "mask").view();
  } else if (key == "bias") {
    if (given) options_.bias = bias_.emplace(value, "bias").view();
  } else if (key == "query_offset") {
    if (given) options_.query_offset = query_offset_from(value);
  } else if (key == "window") {
    if (given) options_.window = window_from(value);
  } else if (key == "key_lengths") {
    if (given) options_.key_lengths = integers_from(value, "key_lengths");
  } else if (key == "alibi_slopes") {
    if (given) options_.alibi_slopes = floats_from(value, "alibi_slopes");
  } else if (key == "softcap") {
    if (given) options_.softcap = number_from(value, "softcap");
  } else if (key == "sinks") {
    if (given) options_.sinks = floats_from(value, "sinks");
  } else if (key == "dropout") {
    if (given) options_.dropout = number_from(value, "dropout");
  } else if (key == "dropout_seed") {
    if (given) options_.dropout_seed = seed_from(value, "dropout_seed");
  } else if (key == "cumulative_query_lengths") {
    if (given) options_.cumulative_query_lengths = integers_from(value, "cumulative_query_lengths");
  } else if (key == "cumulative_key_lengths") {
    if (given) options_.cumulative_key_lengths = integers_from(value, "cumulative_key_lengths");
  } else if (key == "precision") {
    if (given) options_.precision = precision_from(value);
  } else {
    return false;
  }
  return true;
}

}  // namespace attend_python
