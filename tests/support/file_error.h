// EXPECT_FILE_ERROR(expression, "where", "part of the rule"): the file is refused, in one printable sentence.
#pragma once

#include <attend/file_error.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace attend {

template <class Action>
testing::AssertionResult refuses_file(Action action, const std::string& where, const std::string& part) {
  try {
    action();
  } catch (const FileError& error) {
    const std::string message = error.what();
    if (error.where() != where || error.rule().find(part) == std::string::npos) {
      return testing::AssertionFailure() << "refused with \"" << message << "\" (at \"" << error.where()
                                         << "\"), expected \"" << part << "\" at \"" << where << "\"";
    }
    const bool printable = std::none_of(message.begin(), message.end(), [](char c) {
      return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
    });
    if (!printable || message.size() > 1000 || error.file().empty()) {
      return testing::AssertionFailure() << "not one printable sentence: \"" << message << "\"";
    }
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << "accepted, expected \"" << part << "\"";
}

}  // namespace attend

#define EXPECT_FILE_ERROR(expression, where, part) \
  EXPECT_TRUE(::attend::refuses_file([&] { (void)(expression); }, where, part))
