// A template's source as tokens, with the white space around tags already taken away: trim_blocks and
// lstrip_blocks are on, as every library of chat templates has them, and one newline at the end is dropped.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attend::chat {

enum class TokenKind {
  data,
  print_begin,
  print_end,
  tag_begin,
  tag_end,
  name,
  string,
  integer,
  number,
  sign,
  end
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string text;  // a string without its quotes and escapes
  int line = 1;
};

// Throws SyntaxError.
std::vector<Token> read_tokens(std::string_view source);

// A template that is not one, or uses what is not there.
struct SyntaxError {
  int line;
  std::string sentence;
};

}  // namespace attend::chat
