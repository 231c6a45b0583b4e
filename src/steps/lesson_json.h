// A lesson as the file that read_lesson() reads.
#pragma once

#include <string>

#include "steps/lesson.h"

namespace attend::steps {

// At full precision, with a line end.
std::string lesson_json(const Lesson& lesson);

}  // namespace attend::steps
