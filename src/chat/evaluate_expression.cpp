#include "chat/evaluator.h"

#include "chat/evaluation_level.h"
#include "io/fail.h"

namespace attend::chat {

namespace {

Value negated_number(const Value& value, Budget& budget) {
  if (value.is<double>()) return -value.number();  // zero has a sign, too
  return arithmetic("-", std::int64_t{0}, value, budget);
}

}  // namespace

Value Evaluator::value(const Expression& expression) {
  const Level level(*this, expression.line);
  setting_.budget.step();
  return value_of(expression);
}

Value Evaluator::value_of(const Expression& expression) {
  const auto part = [&](std::size_t i) { return value(*expression.parts[i]); };
  switch (expression.kind) {
    case ExpressionKind::constant:
      return expression.value;
    case ExpressionKind::name:
      return lookup(expression.name);
    case ExpressionKind::list:
      return Value::list(values(expression));
    case ExpressionKind::tuple:
      return Value::list(values(expression), SequenceKind::tuple);
    case ExpressionKind::dict:
      return dict(expression);
    case ExpressionKind::attribute:
      return attribute_of(part(0), expression.name, setting_.budget);
    case ExpressionKind::item:
      return item(expression);
    case ExpressionKind::slice:
      return Value();  // only inside an item
    case ExpressionKind::call:
      return call(expression);
    case ExpressionKind::filter:
      return filter(expression, part(0));
    case ExpressionKind::test: {
      Arguments given;
      const Value tested = part(0);
      given.values = values(expression, 1);
      return expression.test->holds(tested, given, setting_.budget);
    }
    case ExpressionKind::negative:
      return negated_number(part(0), setting_.budget);
    case ExpressionKind::positive:
      return arithmetic("+", std::int64_t{0}, part(0), setting_.budget);
    case ExpressionKind::negation:
      return !part(0).truth();
    case ExpressionKind::both: {
      Value left = part(0);
      return left.truth() ? part(1) : left;
    }
    case ExpressionKind::either: {
      Value left = part(0);
      return left.truth() ? left : part(1);
    }
    case ExpressionKind::arithmetic: {
      const Value left = part(0);
      return arithmetic(expression.name, left, part(1), setting_.budget);
    }
    case ExpressionKind::concat:
      return concat(expression);
    case ExpressionKind::comparison:
      return comparison(expression);
    case ExpressionKind::choice:
      if (part(1).truth()) return part(0);
      return expression.parts[2] != nullptr ? part(2)
                                            : Value::undefined("the value of an if without an else");
  }
  return Value();
}

Value Evaluator::lookup(const std::string& name) const {
  for (std::size_t i = scopes_.size(); i-- > 0;) {
    if (i < frame_ && i > 0) i = 0;  // a macro sees its own names, then those of the template
    const auto found = scopes_[i].find(name);
    if (found != scopes_[i].end()) return found->second;
  }
  const auto found = context_.find(name);
  return found != context_.end() ? found->second : Value::undefined(name);
}

Values Evaluator::values(const Expression& expression, std::size_t from) {
  Values made;
  for (std::size_t i = from; i < expression.parts.size(); ++i) made.push_back(value(*expression.parts[i]));
  return made;
}

Arguments Evaluator::arguments(const Expression& expression) {
  Arguments given;
  given.values = values(expression, 1);
  for (const auto& [name, part] : expression.keywords) given.keywords.emplace_back(name, value(*part));
  return given;
}

Value Evaluator::dict(const Expression& expression) {
  std::vector<std::pair<Value, Value>> items;
  for (std::size_t i = 0; i < expression.parts.size(); i += 2) {
    Value key = value(*expression.parts[i]);
    items.emplace_back(std::move(key), value(*expression.parts[i + 1]));
  }
  setting_.budget.pay(items.size() * items.size());
  return Value::dict(std::move(items));
}

Value Evaluator::item(const Expression& expression) {
  const Value owner = value(*expression.parts[0]);
  const Expression& key = *expression.parts[1];
  if (key.kind != ExpressionKind::slice) return item_of(owner, value(key), setting_.budget);
  const Value begin = optional(key.parts[0]), end = optional(key.parts[1]), step = optional(key.parts[2]);
  return slice_of(owner, begin, end, step, setting_.budget);
}

Value Evaluator::concat(const Expression& expression) {
  Text text;
  for (const ExpressionPointer& part : expression.parts) emit(str(value(*part), setting_.budget), text);
  return text;
}

bool Evaluator::comparison(const Expression& expression) {
  Value left = value(*expression.parts[0]);
  for (std::size_t i = 0; i < expression.names.size(); ++i) {
    Value right = value(*expression.parts[i + 1]);
    const std::string& name = expression.names[i];
    Budget& budget = setting_.budget;
    const bool holds = name == "=="       ? equal(left, right, budget)
                       : name == "!="     ? !equal(left, right, budget)
                       : name == "in"     ? contains(right, left, budget)
                       : name == "not in" ? !contains(right, left, budget)
                       : name == "<"      ? compare(left, right, budget) < 0
                       : name == "<="     ? compare(left, right, budget) <= 0
                       : name == ">"      ? compare(left, right, budget) > 0
                                          : compare(left, right, budget) >= 0;
    if (!holds) return false;
    left = std::move(right);
  }
  return true;
}

Value Evaluator::filter(const Expression& expression, const Value& given) {
  return expression.filter->apply(given, arguments(expression), setting_);
}

// Those of a block: its text is what the innermost filter is given.
Value Evaluator::filters(const Expression& expression, Value innermost) {
  Value given = expression.parts[0] != nullptr ? filters(*expression.parts[0], std::move(innermost))
                                               : std::move(innermost);
  if (expression.kind != ExpressionKind::filter) fail("a block is given to something that is not a filter");
  return filter(expression, given);
}

Value Evaluator::call(const Expression& expression) {
  const Expression& called = *expression.parts[0];
  if (called.kind == ExpressionKind::attribute) {
    const Value owner = value(*called.parts[0]);
    return call_method(owner, called.name, arguments(expression), setting_);
  }
  const Value what = lookup(called.name);
  const Arguments given = arguments(expression);
  if (const auto* const statement = what.get_if<const Statement*>()) return macro(**statement, given);
  if (const auto* const method = what.get_if<std::shared_ptr<const Method>>())
    return call_method((*method)->owner, (*method)->name, given, setting_);
  if (const Function* const known = what.get_if<Function>()) return function(*known, given);
  fail(what.kind_name(), " is called");
}

Value Evaluator::function(Function called, const Arguments& given) {
  Budget& budget = setting_.budget;
  switch (called) {
    case Function::range: {
      if (given.values.empty() || given.values.size() > 3) fail("`range` takes one to three numbers");
      const bool one = given.values.size() == 1;
      const std::int64_t begin = one ? 0 : whole(given.values[0], "range");
      const std::int64_t end = whole(given.values[one ? 0 : 1], "range");
      const std::int64_t step = given.values.size() == 3 ? whole(given.values[2], "range") : 1;
      if (step == 0) fail("`range` has a step of 0");
      Values items;
      for (std::int64_t i = begin; step > 0 ? i < end : i > end;) {
        budget.step();
        if (items.size() == 100'000) fail("`range` has more than 100000 numbers");
        items.emplace_back(i);
        if (__builtin_add_overflow(i, step, &i)) break;
      }
      return Value::list(std::move(items), SequenceKind::range);
    }
    case Function::dict:
    case Function::make_namespace: {
      std::vector<std::pair<Value, Value>> items;
      if (given.values.size() > 1 || (given.values.size() == 1 && given.values[0].dictionary() == nullptr))
        fail("`dict` and `namespace` take a dict and names");
      if (!given.values.empty()) items = given.values[0].dictionary()->items;
      for (const auto& [name, item] : given.keywords) items.emplace_back(Value(std::string_view(name)), item);
      budget.pay(items.size() * items.size());
      if (called == Function::dict) return Value::dict(std::move(items));
      namespaces_.push_back(std::make_unique<Namespace>());
      for (auto& [key, item] : items)
        namespaces_.back()->values[text_of(key, "namespace").bytes] = std::move(item);
      return Value(namespaces_.back().get());
    }
    case Function::raise_exception: {
      const Value* const message = given.find(0, "message");
      fail("the template refuses this conversation: ",
           io::shown(message != nullptr ? str(*message, budget).bytes : std::string("no reason is given")));
    }
    case Function::strftime_now: {
      const Value* const format = given.find(0, "format");
      if (format == nullptr) fail("`strftime_now` needs a format");
      return strftime_now(text_of(*format, "strftime_now").bytes, setting_.now);
    }
  }
  return Value();
}

Value strftime_now(std::string_view format, const std::tm& now) {
  // The letters that mean the same everywhere, and one field of each in a buffer of its own.
  constexpr std::string_view kLetters = "aAbBdHIjmMpSUwWxXyYZczF%eTDRGVu";
  std::string text;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      text += format[i];
      continue;
    }
    const bool unpadded = i + 2 < format.size() && format[i + 1] == '-';
    if (unpadded) ++i;
    if (i + 1 == format.size() || kLetters.find(format[i + 1]) == std::string_view::npos)
      fail("`strftime_now` has the format ", io::quoted(format), ", which attend does not have");
    const char field[4] = {'%', unpadded ? '-' : format[i + 1], unpadded ? format[i + 1] : '\0', '\0'};
    char buffer[128];
    text.append(buffer, std::strftime(buffer, sizeof buffer, field, &now));
    ++i;
  }
  return Value(std::string_view(text));
}

}  // namespace attend::chat
