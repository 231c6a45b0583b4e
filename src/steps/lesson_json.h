// A lesson as JSON, in the form that read_lesson() reads.
#pragma once

#include <string>

#include "steps/lesson.h"

namespace attend::steps {

// At full precision, ending with a newline.
std::string lesson_json(const Lesson& lesson);

}  // namespace attend::steps
