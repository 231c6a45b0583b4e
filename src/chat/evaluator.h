// Runs a parsed template over its data.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "chat/library.h"
#include "chat/syntax.h"

namespace attend::chat {

using Scope = std::map<std::string, Value, std::less<>>;

class Evaluator {
 public:
  Evaluator(Scope context, Setting setting);

  Text run(const Statement::Body& body);
  int line() const noexcept { return line_; }  // where it is, or where it failed

 private:
  enum class Flow { on, stop, next };

  Flow statements(const Statement::Body& body, Text& out);
  Flow statement(const Statement& statement, Text& out);
  Flow choice(const Statement& statement, Text& out);
  Flow loop(const Statement& statement, Text& out);
  void set(const Statement& statement, Value value);
  void assign(const Statement& statement, const Value& value);
  Text body_text(const Statement::Body& body);  // with names of its own
  Value macro(const Statement& statement, const Arguments& arguments);

  Value value(const Expression& expression);
  Value value_of(const Expression& expression);
  Value optional(const ExpressionPointer& expression) {
    return expression != nullptr ? value(*expression) : Value();
  }
  Value lookup(const std::string& name) const;
  Value item(const Expression& expression);
  Value call(const Expression& expression);
  Value function(Function function, const Arguments& arguments);
  Value filter(const Expression& expression, const Value& value);
  Value filters(const Expression& expression, Value innermost);
  Value concat(const Expression& expression);
  Value dict(const Expression& expression);
  bool comparison(const Expression& expression);
  Values values(const Expression& expression, std::size_t from = 0);
  Arguments arguments(const Expression& expression);
  void emit(const Text& text, Text& out);

  struct Level;  // one more evaluation inside others

  Scope context_;
  Setting setting_;
  std::vector<Scope> scopes_;  // the template's own, then those of blocks
  std::size_t frame_ = 0;      // where those of the macro begin that is being called
  std::vector<std::unique_ptr<Namespace>> namespaces_;
  int depth_ = 0, line_ = 1;
};

}  // namespace attend::chat
