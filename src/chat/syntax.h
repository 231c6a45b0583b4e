// A parsed template: statements and expressions as trees.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "chat/value.h"

namespace attend::chat {

struct Filter;
struct Test;

enum class ExpressionKind {
  constant,    // value
  name,        // name
  list,        // parts
  tuple,       // parts
  dict,        // parts: key, value, key, value, ...
  attribute,   // parts[0].name
  item,        // parts[0][parts[1]]
  slice,       // parts: begin, end, step, each may be empty
  call,        // parts[0](parts[1], ..., keywords)
  filter,      // parts[0] | name(parts[1], ..., keywords); parts[0] may be empty in a block
  test,        // parts[0] is name(parts[1], ...)
  negative,    // - parts[0]
  positive,    // + parts[0]
  negation,    // not parts[0]
  both,        // parts[0] and parts[1]
  either,      // parts[0] or parts[1]
  arithmetic,  // parts[0] name parts[1]
  concat,      // parts joined as text
  comparison,  // parts[0] names[0] parts[1] names[1] ...
  choice,      // parts[0] if parts[1] else parts[2], which may be empty
};

struct Expression;
using ExpressionPointer = std::unique_ptr<Expression>;

struct Expression {
  ExpressionKind kind = ExpressionKind::constant;
  int line = 1;
  int height = 1;
  Value value{};
  std::string name{};
  std::vector<ExpressionPointer> parts{};
  std::vector<std::pair<std::string, ExpressionPointer>> keywords{};
  std::vector<std::string> names{};
  const Filter* filter = nullptr;
  const Test* test = nullptr;
};

enum class StatementKind {
  data,          // text
  print,         // expression
  choice,        // conditions and bodies; a body more than conditions is that of else
  loop,          // target, expression, condition (may be empty); bodies[0], bodies[1] of else
  set,           // target, expression
  set_block,     // target, expression (a filter, may be empty), bodies[0]
  macro,         // name, parameters, bodies[0]
  filter_block,  // expression, bodies[0]
  scope,         // bodies[0], with names of its own
  stop,          // break
  next,          // continue
};

struct Statement {
  using Body = std::vector<std::unique_ptr<Statement>>;
  StatementKind kind = StatementKind::data;
  int line = 1;
  Text text{};
  std::string name{};
  ExpressionPointer expression{}, condition{};
  std::vector<ExpressionPointer> conditions{};
  // One name, several that a value is unpacked to, or an attribute of a namespace ("ns", "x").
  std::vector<std::string> target{};
  bool unpacks = false, sets_attribute = false;
  std::vector<std::pair<std::string, ExpressionPointer>> parameters{};  // with defaults, which may be empty
  std::vector<Body> bodies{};
};

// Throws SyntaxError, which names what the template uses and attend does not have.
Statement::Body parse_template(std::string_view source);

}  // namespace attend::chat
