// What the parser can never produce, but a built-in lesson could. The rest is in bad_lessons_test.cpp.
#include "steps/check_lesson.h"

#include <gtest/gtest.h>

#include "steps/refuses_lesson.h"

namespace attend::steps {
namespace {

Lesson two_tokens() {
  Lesson lesson;
  lesson.tokens = {"a", "b"};
  lesson.key_tokens = lesson.tokens;
  lesson.x = Tensor::from<double>({2, 2}, {1, 0, 0, 1});
  return lesson;
}

TEST(CheckLesson, AcceptsALessonMadeByHand) { EXPECT_NO_THROW(check_lesson("two tokens", two_tokens())); }

TEST(CheckLesson, RefusesHeadsBelowOne) {
  Lesson lesson = two_tokens();
  lesson.heads = 0;
  EXPECT_REFUSES_LESSON(check_lesson("two tokens", lesson), LessonCause::bad_value,
                        "two tokens: heads is 0, expected at least 1");
}

TEST(CheckLesson, RefusesForgottenKeyTokens) {
  Lesson lesson = two_tokens();
  lesson.key_tokens.clear();
  EXPECT_REFUSES_LESSON(check_lesson("two tokens", lesson), LessonCause::size_mismatch,
                        "two tokens: key_tokens has 0 labels, x has 2 rows");
}

}  // namespace
}  // namespace attend::steps
