#include "numbers.h"

#include "errors.h"

namespace attend_python {

namespace nb = nanobind;

namespace {

std::string kind_of(nb::handle object) {
  return nb::cast<std::string>(nb::str(object.type().attr("__name__")));
}

// Python raised something: if it is of this type the caller has a better sentence, else it goes on.
void only(PyObject* type) {
  if (PyErr_ExceptionMatches(type) == 0) throw nb::python_error();
  PyErr_Clear();
}

nb::object whole_number(nb::handle value, const char* name) {
  nb::object index = nb::steal(PyNumber_Index(value.ptr()));
  if (!index.is_valid()) {
    only(PyExc_TypeError);
    refuse_type(name, " must be a whole number, not ", kind_of(value));
  }
  return index;
}

// A number of a million digits is not shown whole, nor can it be: Python refuses to write it.
[[noreturn]] void refuse_size(nb::handle index, const char* name) {
  const auto bits = nb::cast<std::int64_t>(index.attr("bit_length")());
  if (bits > 256) refuse_value(name, " is a number of ", bits, " bits, which does not fit 64 bits");
  refuse_value(name, " is ", nb::cast<std::string>(nb::str(index)), ", which does not fit 64 bits");
}

}  // namespace

double number_from(nb::handle value, const char* name) {
  const double number = PyFloat_AsDouble(value.ptr());
  if (number == -1.0 && PyErr_Occurred() != nullptr) {
    if (PyErr_ExceptionMatches(PyExc_OverflowError) != 0) {
      PyErr_Clear();
      refuse_value(name, " is a whole number beyond what a float holds");
    }
    only(PyExc_TypeError);
    refuse_type(name, " must be a number, not ", kind_of(value));
  }
  return number;
}

bool flag_from(nb::handle value, const char* name) {
  if (!PyBool_Check(value.ptr()) && !PyIndex_Check(value.ptr()) && !nb::hasattr(value, "dtype")) {
    refuse_type(name, " must be True or False, not ", kind_of(value));
  }
  const int truth = PyObject_IsTrue(value.ptr());
  if (truth < 0) throw nb::python_error();
  return truth != 0;
}

std::string name_from(nb::handle value, const char* name) {
  if (!PyUnicode_Check(value.ptr())) refuse_type(name, " must be a str, not ", kind_of(value));
  Py_ssize_t size = 0;
  const char* const text = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
  if (text == nullptr) throw nb::python_error();  // a lone surrogate
  return {text, static_cast<std::size_t>(size)};
}

std::string choice_from(nb::handle value, const char* name, std::initializer_list<const char*> choices) {
  std::string given = name_from(value, name), expected;
  for (const char* const* choice = choices.begin(); choice != choices.end(); ++choice) {
    if (given == *choice) return given;
    expected += choice == choices.begin() ? "" : choice + 1 == choices.end() ? " or " : ", ";
    expected.append("\"").append(*choice).append("\"");
  }
  refuse_value(name, " is \"", given, "\", expected ", expected);
}

attend::CacheType cache_type_from(nb::handle value) {
  return *attend::cache_type_named(choice_from(value, "cache_type", {"f32", "f16", "bf16", "int8"}));
}

attend::Precision precision_from(nb::handle value) {
  return *attend::precision_named(choice_from(value, "precision", {"f32", "bf16", "int8"}));
}

std::int64_t integer_from(nb::handle value, const char* name) {
  const nb::object index = whole_number(value, name);
  const long long number = PyLong_AsLongLong(index.ptr());
  if (number == -1 && PyErr_Occurred() != nullptr) {
    only(PyExc_OverflowError);
    refuse_size(index, name);
  }
  return number;
}

std::int64_t integer_from(nb::handle value, const char* name, std::int64_t least) {
  const std::int64_t number = integer_from(value, name);
  if (number < least) refuse_value(name, " is ", number, ", expected at least ", least);
  return number;
}

std::optional<std::int64_t> optional_integer_from(nb::handle value, const char* name) {
  if (value.is_none()) return std::nullopt;
  return integer_from(value, name);
}

std::vector<nb::object> items_of(nb::handle object, const char* name) {
  const bool text = PyUnicode_Check(object.ptr()) || PyBytes_Check(object.ptr());
  const nb::object iterator = text ? nb::object() : nb::steal(PyObject_GetIter(object.ptr()));
  if (!iterator.is_valid()) {
    if (!text) only(PyExc_TypeError);
    refuse_type(name, " must be a sequence of numbers, not ", kind_of(object));
  }
  std::vector<nb::object> items;
  while (PyObject* const item = PyIter_Next(iterator.ptr())) items.push_back(nb::steal(item));
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  return items;
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

bool is_integer(nb::handle value) { return PyIndex_Check(value.ptr()) && !nb::hasattr(value, "__len__"); }

std::uint64_t seed_from(nb::handle value, const char* name) {
  const nb::object index = whole_number(value, name);
  const unsigned long long seed = PyLong_AsUnsignedLongLong(index.ptr());
  if (seed != static_cast<unsigned long long>(-1) || PyErr_Occurred() == nullptr) return seed;
  only(PyExc_OverflowError);  // negative, or too large
  const long long number = PyLong_AsLongLong(index.ptr());
  if (number == -1 && PyErr_Occurred() != nullptr) {
    only(PyExc_OverflowError);
    refuse_size(index, name);
  }
  return static_cast<std::uint64_t>(number);
}

}  // namespace attend_python
