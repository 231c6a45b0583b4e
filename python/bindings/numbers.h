// Arguments that are numbers, flags or names: each as C++ has it, or one sentence that says which is wrong
// and why. nanobind's own conversions answer with a paragraph of signatures.
#pragma once

#include <attend/cache.h>
#include <attend/precision.h>
#include <nanobind/nanobind.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

namespace attend_python {

// TypeError for anything else. ValueError for whole numbers beyond 64 bits, or below `least`.
double number_from(nanobind::handle value, const char* name);
bool flag_from(nanobind::handle value, const char* name);
std::string name_from(nanobind::handle value, const char* name);  // a str
// One of these strings.
std::string choice_from(nanobind::handle value, const char* name, std::initializer_list<const char*> choices);
attend::Precision precision_from(nanobind::handle value);   // "f32", "bf16" or "int8"
attend::CacheType cache_type_from(nanobind::handle value);  // "f32", "f16", "bf16" or "int8"
std::int64_t integer_from(nanobind::handle value, const char* name);
std::int64_t integer_from(nanobind::handle value, const char* name, std::int64_t least);
std::optional<std::int64_t> optional_integer_from(nanobind::handle value, const char* name);  // None: none

// From a list, a tuple, a range or an array of integers (of any width) or floats.
std::vector<nanobind::object> items_of(nanobind::handle object, const char* name);
std::vector<std::int64_t> integers_from(nanobind::handle object, const char* name);
std::vector<double> floats_from(nanobind::handle object, const char* name);

// Whether it is one whole number, rather than a sequence of them.
bool is_integer(nanobind::handle value);

// Any whole number of 64 bits, with a sign or without: negative ones mean what their bits do.
std::uint64_t seed_from(nanobind::handle value, const char* name);

}  // namespace attend_python
