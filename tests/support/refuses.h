// EXPECT_REFUSES(expression, "part of the message"): the library says no, in a sentence that begins with its
// operation.
#pragma once

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace attend {

template <class Action>
testing::AssertionResult refuses(Action action, const std::string& part) {
  try {
    action();
  } catch (const std::invalid_argument& error) {
    const std::string message = error.what();
    if (message.find(part) == std::string::npos) {
      return testing::AssertionFailure() << "refused with \"" << message << "\", expected \"" << part << "\"";
    }
    if (message.front() != '[' || message.find('\n') != std::string::npos) {
      return testing::AssertionFailure() << "not one sentence after its operation: \"" << message << "\"";
    }
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << "accepted, expected \"" << part << "\"";
}

}  // namespace attend

#define EXPECT_REFUSES(expression, part) EXPECT_TRUE(::attend::refuses([&] { (void)(expression); }, part))
