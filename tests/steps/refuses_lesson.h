// EXPECT_REFUSES_LESSON(expression, cause, "part of the sentence"): refused with LessonError, for that cause,
// in one printable sentence.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "steps/lesson_error.h"

namespace attend::steps {

template <class Action>
testing::AssertionResult refuses_lesson(Action action, LessonCause cause, std::string_view part) {
  try {
    action();
  } catch (const LessonError& error) {
    const std::string sentence = error.what();
    if (sentence.find(part) == std::string::npos) {
      return testing::AssertionFailure()
             << "refused with \"" << sentence << "\", expected \"" << part << "\"";
    }
    for (const char c : sentence) {
      if (static_cast<unsigned char>(c) < 0x20) {
        return testing::AssertionFailure() << "a control character in \"" << sentence << "\"";
      }
    }
    if (error.cause() != cause) {
      return testing::AssertionFailure() << "cause " << static_cast<int>(error.cause()) << ", expected "
                                         << static_cast<int>(cause) << ", for \"" << sentence << "\"";
    }
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << "accepted, expected \"" << part << "\"";
}

}  // namespace attend::steps

#define EXPECT_REFUSES_LESSON(expression, cause, part) \
  EXPECT_TRUE(::attend::steps::refuses_lesson([&] { (void)(expression); }, cause, part))
