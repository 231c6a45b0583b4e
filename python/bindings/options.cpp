#include "options.h"

#include <array>
#include <string>

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
                            "cumulative_key_lengths"};

std::string kind_of(nb::handle object) {
  return nb::cast<std::string>(nb::str(object.type().attr("__name__")));
}

double number_from(nb::handle value, const char* name) {
  const double number = PyFloat_AsDouble(value.ptr());
  if (number == -1.0 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    refuse_type(name, " must be a number, not ", kind_of(value));
  }
  return number;
}

std::int64_t integer_from(nb::handle value, const char* name) {
  const nb::object index = nb::steal(PyNumber_Index(value.ptr()));
  if (!index.is_valid()) {
    PyErr_Clear();
    refuse_type(name, " must be a whole number, not ", kind_of(value));
  }
  const long long number = PyLong_AsLongLong(index.ptr());
  if (number == -1 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    refuse_value(name, " is ", nb::cast<std::string>(nb::str(index)), ", which does not fit 64 bits");
  }
  return number;
}

bool flag_from(nb::handle value, const char* name) {
  const int truth = PyObject_IsTrue(value.ptr());
  if (truth < 0) throw nb::python_error();
  if (!PyBool_Check(value.ptr()) && !PyIndex_Check(value.ptr()) && !nb::hasattr(value, "dtype")) {
    refuse_type(name, " must be True or False, not ", kind_of(value));
  }
  return truth != 0;
}

std::vector<nb::object> items_of(nb::handle object, const char* name) {
  const bool text = PyUnicode_Check(object.ptr()) || PyBytes_Check(object.ptr());
  const nb::object iterator = text ? nb::object() : nb::steal(PyObject_GetIter(object.ptr()));
  if (!iterator.is_valid()) {
    PyErr_Clear();
    refuse_type(name, " must be a sequence of numbers, not ", kind_of(object));
  }
  std::vector<nb::object> items;
  while (PyObject* const item = PyIter_Next(iterator.ptr())) items.push_back(nb::steal(item));
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  return items;
}

attend::QueryOffset query_offset_from(nb::handle value) {
  if (PyUnicode_Check(value.ptr())) {
    const auto name = nb::cast<std::string>(value);
    if (name == "top_left") return attend::QueryOffset::top_left();
    if (name == "bottom_right") return attend::QueryOffset::bottom_right();
    refuse_value("query_offset is \"", name,
                 "\", expected \"top_left\", \"bottom_right\", a number or one per sequence");
  }
  if (PyIndex_Check(value.ptr()) && !nb::hasattr(value, "__len__"))
    return integer_from(value, "query_offset");
  return integers_from(value, "query_offset");
}

std::int64_t window_side(nb::handle value) {
  if (value.is_none()) return attend::Window::kUnlimited;
  const std::int64_t side = integer_from(value, "window");
  if (side < 0) refuse_value("window is ", side, " on one side, expected None or a number from 0");
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

std::uint64_t seed_from(nb::handle value, const char* name) {
  const nb::object index = nb::steal(PyNumber_Index(value.ptr()));
  if (!index.is_valid()) {
    PyErr_Clear();
    refuse_type(name, " must be a whole number, not ", kind_of(value));
  }
  return PyLong_AsUnsignedLongLongMask(index.ptr());
}

std::vector<std::int64_t> integers_from(nb::handle object, const char* name) {
  std::vector<std::int64_t> numbers;
  for (const nb::object& item : items_of(object, name)) numbers.push_back(integer_from(item, name));
  return numbers;
}

std::vector<double> floats_from(nb::handle object, const char* name) {
  std::vector<double> numbers;
  for (const nb::object& item : items_of(object, name)) numbers.push_back(number_from(item, name));
  return numbers;
}

attend::Indices indices_from(nb::handle object, const char* name) {
  if (object.is_none()) return attend::Indices::all();
  if (PyIndex_Check(object.ptr()) && !nb::hasattr(object, "__len__")) return {integer_from(object, name)};
  return integers_from(object, name);
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
  } else {
    return false;
  }
  return true;
}

}  // namespace attend_python
