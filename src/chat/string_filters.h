// Filters of strings and numbers.
#pragma once

#include "chat/library.h"

namespace attend::chat {

Value filter_trim(const Value& value, const Arguments& arguments, Setting& setting);
Value filter_upper(const Value& value, const Arguments& arguments, Setting& setting);
Value filter_lower(const Value& value, const Arguments& arguments, Setting& setting);
Value filter_title(const Value& value, const Arguments& arguments, Setting& setting);
Value filter_capitalize(const Value& value, const Arguments& arguments, Setting& setting);
Value filter_replace(const Value& value, const Arguments& arguments, Setting& setting);
Value filter_indent(const Value& value, const Arguments& arguments, Setting& setting);
Value filter_string(const Value& value, const Arguments& arguments, Setting& setting);
Value filter_safe(const Value& value, const Arguments& arguments, Setting& setting);
Value filter_tojson(const Value& value, const Arguments& arguments, Setting& setting);
Value filter_int(const Value& value, const Arguments& arguments, Setting& setting);
Value filter_float(const Value& value, const Arguments& arguments, Setting& setting);
Value filter_abs(const Value& value, const Arguments& arguments, Setting& setting);
Value filter_round(const Value& value, const Arguments& arguments, Setting& setting);

}  // namespace attend::chat
