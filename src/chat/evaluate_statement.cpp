#include <utility>

#include "chat/evaluation_level.h"
#include "chat/evaluator.h"
#include "io/fail.h"

namespace attend::chat {

Evaluator::Evaluator(Scope context, Setting setting)
    : context_(std::move(context)), setting_(setting), scopes_(1) {
  context_.try_emplace("range", Function::range);
  context_.try_emplace("dict", Function::dict);
  context_.try_emplace("namespace", Function::make_namespace);
  context_.try_emplace("raise_exception", Function::raise_exception);
  context_.try_emplace("strftime_now", Function::strftime_now);
}

Text Evaluator::run(const Statement::Body& body) {
  Text out;
  statements(body, out);
  return out;
}

void Evaluator::emit(const Text& text, Text& out) {
  setting_.budget.pay(text.size());
  out.append(text);
}

Evaluator::Flow Evaluator::statements(const Statement::Body& body, Text& out) {
  for (const auto& one : body) {
    if (const Flow flow = statement(*one, out); flow != Flow::on) return flow;
  }
  return Flow::on;
}

Evaluator::Flow Evaluator::statement(const Statement& one, Text& out) {
  const Level level(*this, one.line);
  setting_.budget.step();
  switch (one.kind) {
    case StatementKind::data:
      emit(one.text, out);
      break;
    case StatementKind::print: {
      const Value printed = value(*one.expression);
      if (printed.text() != nullptr) {
        emit(*printed.text(), out);
      } else {
        emit(str(printed, setting_.budget), out);
      }
      break;
    }
    case StatementKind::choice:
      return choice(one, out);
    case StatementKind::loop:
      return loop(one, out);
    case StatementKind::set:
      set(one, value(*one.expression));
      break;
    case StatementKind::set_block: {
      Value text = body_text(one.bodies[0]);
      set(one, one.expression != nullptr ? filters(*one.expression, std::move(text)) : std::move(text));
      break;
    }
    case StatementKind::filter_block:
      emit(str(filters(*one.expression, body_text(one.bodies[0])), setting_.budget), out);
      break;
    case StatementKind::macro:
      scopes_.back()[one.name] = Value(&one);
      break;
    case StatementKind::scope:
      emit(body_text(one.bodies[0]), out);
      break;
    case StatementKind::stop:
      return Flow::stop;
    case StatementKind::next:
      return Flow::next;
  }
  return Flow::on;
}

Evaluator::Flow Evaluator::choice(const Statement& one, Text& out) {
  for (std::size_t i = 0; i < one.conditions.size(); ++i) {
    if (value(*one.conditions[i]).truth()) return statements(one.bodies[i], out);
  }
  return one.bodies.size() > one.conditions.size() ? statements(one.bodies.back(), out) : Flow::on;
}

Text Evaluator::body_text(const Statement::Body& body) {
  Text text;
  scopes_.emplace_back();
  statements(body, text);
  scopes_.pop_back();
  return text;
}

void Evaluator::assign(const Statement& one, const Value& given) {
  if (!one.unpacks) {
    scopes_.back()[one.target[0]] = given;
    return;
  }
  const auto items = iterated(given, setting_.budget);
  if (items->items.size() != one.target.size())
    fail(items->items.size(), " values are unpacked to ", one.target.size(), " names");
  for (std::size_t i = 0; i < one.target.size(); ++i) scopes_.back()[one.target[i]] = items->items[i];
}

void Evaluator::set(const Statement& one, Value given) {
  if (!one.sets_attribute) return assign(one, given);
  const Value owner = lookup(one.target[0]);
  const auto* const space = owner.get_if<Namespace*>();
  if (space == nullptr)
    fail("an attribute is set on ", owner.kind_name(), ", and only namespaces can be changed");
  (*space)->values[one.target[1]] = std::move(given);
}

Evaluator::Flow Evaluator::loop(const Statement& one, Text& out) {
  const Value over = value(*one.expression);
  std::shared_ptr<const Sequence> items = iterated(over, setting_.budget);
  if (one.condition != nullptr) {
    Values kept;
    for (const Value& item : items->items) {
      setting_.budget.step();
      scopes_.emplace_back();
      assign(one, item);
      if (value(*one.condition).truth()) kept.push_back(item);
      scopes_.pop_back();
    }
    items = iterated(Value::list(std::move(kept)), setting_.budget);
  }
  if (items->items.empty() && one.bodies.size() > 1) {
    scopes_.emplace_back();
    const Flow flow = statements(one.bodies[1], out);
    scopes_.pop_back();
    return flow;
  }
  for (std::size_t i = 0; i < items->items.size(); ++i) {
    setting_.budget.step();
    scopes_.emplace_back();
    scopes_.back()["loop"] = Value(std::make_shared<const Loop>(Loop{items, i}));
    assign(one, items->items[i]);
    const Flow flow = statements(one.bodies[0], out);
    scopes_.pop_back();
    if (flow == Flow::stop) break;
  }
  return Flow::on;
}

Value Evaluator::macro(const Statement& one, const Arguments& given) {
  if (given.values.size() > one.parameters.size())
    fail("the macro ", io::quoted(one.name), " takes ", one.parameters.size(), " arguments, not ",
         given.values.size());
  for (const auto& [keyword, unused] : given.keywords) {
    bool known = false;
    for (const auto& [name, usual] : one.parameters) known = known || name == keyword;
    if (!known) fail("the macro ", io::quoted(one.name), " has no parameter ", io::quoted(keyword));
  }
  const std::size_t frame = frame_;
  frame_ = scopes_.size();
  scopes_.emplace_back();
  for (std::size_t i = 0; i < one.parameters.size(); ++i) {
    const auto& [name, usual] = one.parameters[i];
    const Value* const argument = given.find(i, name);
    Value taken = argument != nullptr ? *argument : usual != nullptr ? value(*usual) : Value::undefined(name);
    scopes_.back()[name] = std::move(taken);
  }
  Text text;
  statements(one.bodies[0], text);
  scopes_.pop_back();
  frame_ = frame;
  return text;
}

}  // namespace attend::chat
