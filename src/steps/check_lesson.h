// Checks that the parts of a lesson fit together: which may and must be given, and their sizes.
#pragma once

#include <string_view>

#include "steps/lesson.h"
#include "steps/lesson_error.h"

namespace attend::steps {

// Throws LessonError: one sentence that begins with `name` and says which two parts disagree. Matrices are
// expected to be of rank 2 and biases of rank 1, all f64.
void check_lesson(std::string_view name, const Lesson& lesson);

}  // namespace attend::steps
