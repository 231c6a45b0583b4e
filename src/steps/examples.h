// The built-in examples of `attend steps`.
#pragma once

#include <span>
#include <string_view>

#include "steps/lesson.h"

namespace attend::steps {

struct BuiltInExample {
  std::string_view name;
  std::string_view summary;  // one line for the list of examples
  std::string_view moral;    // what the numbers show, printed after them
  Lesson (*lesson)();
};

std::span<const BuiltInExample> examples() noexcept;
const BuiltInExample* find_example(std::string_view name) noexcept;  // null when there is no such example

}  // namespace attend::steps
