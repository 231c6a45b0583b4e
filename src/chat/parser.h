// From tokens to expressions and statements. What both parsers share: the place in the tokens, and the depth.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "chat/lexer.h"
#include "chat/syntax.h"

namespace attend::chat {

class TokenCursor {
 public:
  explicit TokenCursor(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& now() const { return tokens_[at_]; }
  const Token& next(std::size_t ahead = 1) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  Token take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool is(TokenKind kind) const { return now().kind == kind; }
  bool is_sign(std::string_view sign) const { return is(TokenKind::sign) && now().text == sign; }
  bool is_word(std::string_view word) const { return is(TokenKind::name) && now().text == word; }
  bool take_sign(std::string_view sign);
  bool take_word(std::string_view word);
  void need_sign(std::string_view sign);
  void need_word(std::string_view word);
  std::string need_name(std::string_view what);
  [[noreturn]] void wrong(std::string sentence) const { throw SyntaxError{now().line, std::move(sentence)}; }
  [[noreturn]] void unexpected(std::string_view expected) const;

 private:
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

// One more level of nesting while it lives.
class Nesting {
 public:
  Nesting(int& depth, const TokenCursor& cursor);
  ~Nesting() { --depth_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  int& depth_;
};

class ExpressionParser {
 public:
  ExpressionParser(TokenCursor& cursor, int& depth) : cursor_(cursor), depth_(depth) {}

  ExpressionPointer expression(bool with_choice = true);
  ExpressionPointer tuple(bool with_choice = true, bool in_parentheses = false);
  ExpressionPointer filters_of(ExpressionPointer value,
                               bool starts_here);  // `starts_here`: no | before the first

  // Names that are called as functions, with the line of the first call: all of them must be macros.
  std::vector<std::pair<std::string, int>> called{};

 private:
  ExpressionPointer make(ExpressionKind kind, std::vector<ExpressionPointer> parts, std::string name = "");
  ExpressionPointer either();
  ExpressionPointer both();
  ExpressionPointer negation();
  ExpressionPointer comparison();
  ExpressionPointer sum();
  ExpressionPointer concat();
  ExpressionPointer product();
  ExpressionPointer power();
  ExpressionPointer unary(bool with_filters = true);
  ExpressionPointer primary();
  ExpressionPointer dict();
  ExpressionPointer postfix(ExpressionPointer value);
  ExpressionPointer subscript(ExpressionPointer value);
  ExpressionPointer call(ExpressionPointer value);
  ExpressionPointer filter(ExpressionPointer value);
  ExpressionPointer test(ExpressionPointer value);
  void arguments(Expression& owner);
  bool ends_tuple() const;

  TokenCursor& cursor_;
  int& depth_;
};

}  // namespace attend::chat
