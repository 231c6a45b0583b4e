// What is wrong with an untrusted file.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace attend {

// Thrown by everything that reads untrusted files. what() is one sentence: "FILE: WHERE: RULE", or "FILE:
// RULE" where there is no place to name.
class FileError : public std::runtime_error {
 public:
  FileError(std::string file, std::string where, std::string rule)
      : std::runtime_error(where.empty() ? file + ": " + rule : file + ": " + where + ": " + rule),
        file_(std::move(file)),
        where_(std::move(where)),
        rule_(std::move(rule)) {}

  const std::string& file() const noexcept { return file_; }    // as the caller named it
  const std::string& where() const noexcept { return where_; }  // a tensor, a key, a line; may be empty
  const std::string& rule() const noexcept { return rule_; }    // what was expected, and what was found

 private:
  std::string file_, where_, rule_;
};

}  // namespace attend
