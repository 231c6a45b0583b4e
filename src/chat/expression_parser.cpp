#include <charconv>

#include "base/error.h"
#include "chat/library.h"
#include "chat/parser.h"
#include "io/fail.h"

namespace attend::chat {

using io::quoted;

namespace {

constexpr int kLongestChain = 250;  // of operators one after the other, and of anything in anything

std::string described(const Token& token) {
  switch (token.kind) {
    case TokenKind::end:
      return "the end of the template";
    case TokenKind::tag_end:
    case TokenKind::print_end:
      return "the end of the tag";
    case TokenKind::data:
    case TokenKind::print_begin:
    case TokenKind::tag_begin:
      return "text";
    default:
      return quoted(token.text);
  }
}

// The parameters of a filter: at most so many, and keywords of these names.
void check_filter_arguments(const Expression& filter, const TokenCursor& cursor) {
  std::string_view rest = filter.filter->parameters;
  std::vector<std::string_view> names;
  while (!rest.empty()) {
    names.push_back(rest.substr(0, rest.find(' ')));
    rest.remove_prefix(std::min(rest.size(), names.back().size() + 1));
  }
  if (!names.empty() && names.back() == "*") return;
  if (filter.parts.size() - 1 > names.size())
    cursor.wrong(joined("the filter ", quoted(filter.name), " takes at most ", names.size(), " arguments"));
  for (const auto& [keyword, value] : filter.keywords) {
    if (std::find(names.begin(), names.end(), keyword) == names.end()) {
      cursor.wrong(joined("the filter ", quoted(filter.name), " has no parameter ", quoted(keyword),
                          " that attend knows"));
    }
  }
}

}  // namespace

bool TokenCursor::take_sign(std::string_view sign) {
  if (!is_sign(sign)) return false;
  take();
  return true;
}
bool TokenCursor::take_word(std::string_view word) {
  if (!is_word(word)) return false;
  take();
  return true;
}
void TokenCursor::need_sign(std::string_view sign) {
  if (!take_sign(sign)) unexpected(joined("\"", sign, "\""));
}
void TokenCursor::need_word(std::string_view word) {
  if (!take_word(word)) unexpected(joined("\"", word, "\""));
}
std::string TokenCursor::need_name(std::string_view what) {
  if (!is(TokenKind::name)) unexpected(what);
  return take().text;
}
void TokenCursor::unexpected(std::string_view expected) const {
  wrong(joined("expected ", expected, ", found ", described(now())));
}

Nesting::Nesting(int& depth, const TokenCursor& cursor) : depth_(depth) {
  if (depth_ >= kDeepestSource) cursor.wrong(joined("is nested more than ", kDeepestSource, " deep"));
  ++depth_;
}

ExpressionPointer ExpressionParser::make(ExpressionKind kind, std::vector<ExpressionPointer> parts,
                                         std::string name) {
  auto made = std::make_unique<Expression>();
  made->kind = kind;
  made->line = cursor_.now().line;
  made->name = std::move(name);
  for (const ExpressionPointer& part : parts) {
    if (part != nullptr) made->height = std::max(made->height, part->height + 1);
  }
  if (made->height > kLongestChain)
    cursor_.wrong(joined("an expression is more than ", kLongestChain, " deep"));
  made->parts = std::move(parts);
  return made;
}

namespace {

template <class... Pointers>
std::vector<ExpressionPointer> parts_of(Pointers... pointers) {
  std::vector<ExpressionPointer> parts;
  (parts.push_back(std::move(pointers)), ...);
  return parts;
}

}  // namespace

ExpressionPointer ExpressionParser::expression(bool with_choice) {
  const Nesting nesting(depth_, cursor_);
  ExpressionPointer value = either();
  while (with_choice && cursor_.take_word("if")) {
    ExpressionPointer condition = either();
    ExpressionPointer otherwise = cursor_.take_word("else") ? expression() : nullptr;
    value =
        make(ExpressionKind::choice, parts_of(std::move(value), std::move(condition), std::move(otherwise)));
  }
  return value;
}

bool ExpressionParser::ends_tuple() const {
  return cursor_.is(TokenKind::print_end) || cursor_.is(TokenKind::tag_end) || cursor_.is_sign(")");
}

ExpressionPointer ExpressionParser::tuple(bool with_choice, bool in_parentheses) {
  std::vector<ExpressionPointer> parts;
  bool is_tuple = false;
  while (!ends_tuple()) {
    parts.push_back(expression(with_choice));
    if (!cursor_.take_sign(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && parts.size() == 1) return std::move(parts.front());
  if (parts.empty() && !in_parentheses) cursor_.unexpected("an expression");
  return make(ExpressionKind::tuple, std::move(parts));
}

ExpressionPointer ExpressionParser::either() {
  ExpressionPointer left = both();
  while (cursor_.take_word("or")) left = make(ExpressionKind::either, parts_of(std::move(left), both()));
  return left;
}

ExpressionPointer ExpressionParser::both() {
  ExpressionPointer left = negation();
  while (cursor_.take_word("and")) left = make(ExpressionKind::both, parts_of(std::move(left), negation()));
  return left;
}

ExpressionPointer ExpressionParser::negation() {
  if (!cursor_.is_word("not")) return comparison();
  const Nesting nesting(depth_, cursor_);
  cursor_.take();
  return make(ExpressionKind::negation, parts_of(negation()));
}

ExpressionPointer ExpressionParser::comparison() {
  std::vector<ExpressionPointer> parts = parts_of(sum());
  std::vector<std::string> names;
  for (;;) {
    const bool is_not_in =
        cursor_.is_word("not") && cursor_.next().kind == TokenKind::name && cursor_.next().text == "in";
    constexpr std::string_view kSigns[] = {"==", "!=", "<=", ">=", "<", ">"};
    const bool compares = cursor_.is(TokenKind::sign) && std::find(std::begin(kSigns), std::end(kSigns),
                                                                   cursor_.now().text) != std::end(kSigns);
    if (!compares && !is_not_in && !cursor_.is_word("in")) break;
    names.push_back(is_not_in ? "not in" : cursor_.now().text);
    cursor_.take();
    if (is_not_in) cursor_.take();
    parts.push_back(sum());
  }
  if (names.empty()) return std::move(parts.front());
  ExpressionPointer made = make(ExpressionKind::comparison, std::move(parts));
  made->names = std::move(names);
  return made;
}

ExpressionPointer ExpressionParser::sum() {
  ExpressionPointer left = concat();
  while (cursor_.is_sign("+") || cursor_.is_sign("-")) {
    std::string sign = cursor_.take().text;
    ExpressionPointer right = concat();
    left = make(ExpressionKind::arithmetic, parts_of(std::move(left), std::move(right)), std::move(sign));
  }
  return left;
}

ExpressionPointer ExpressionParser::concat() {
  std::vector<ExpressionPointer> parts = parts_of(product());
  while (cursor_.take_sign("~")) parts.push_back(product());
  if (parts.size() == 1) return std::move(parts.front());
  return make(ExpressionKind::concat, std::move(parts));
}

ExpressionPointer ExpressionParser::product() {
  ExpressionPointer left = power();
  while (cursor_.is_sign("*") || cursor_.is_sign("/") || cursor_.is_sign("//") || cursor_.is_sign("%")) {
    std::string sign = cursor_.take().text;
    if (sign == "%" && left->kind == ExpressionKind::constant && left->value.text() != nullptr)
      cursor_.wrong("uses % on a string, which attend does not have");
    ExpressionPointer right = power();
    left = make(ExpressionKind::arithmetic, parts_of(std::move(left), std::move(right)), std::move(sign));
  }
  return left;
}

ExpressionPointer ExpressionParser::power() {
  ExpressionPointer left = unary();
  while (cursor_.take_sign("**"))
    left = make(ExpressionKind::arithmetic, parts_of(std::move(left), unary()), "**");
  return left;
}

ExpressionPointer ExpressionParser::unary(bool with_filters) {
  ExpressionPointer value;
  if (cursor_.is_sign("-") || cursor_.is_sign("+")) {
    const Nesting nesting(depth_, cursor_);
    const bool negative = cursor_.take().text == "-";
    value = make(negative ? ExpressionKind::negative : ExpressionKind::positive, parts_of(unary(false)));
  } else {
    value = primary();
  }
  value = postfix(std::move(value));
  return with_filters ? filters_of(std::move(value), false) : std::move(value);
}

ExpressionPointer ExpressionParser::primary() {
  const int line = cursor_.now().line;
  const auto constant = [&](Value value) {
    ExpressionPointer made = make(ExpressionKind::constant, {});
    made->line = line;
    made->value = std::move(value);
    return made;
  };
  const Token token = cursor_.now();
  if (token.kind == TokenKind::name) {
    cursor_.take();
    if (token.text == "true" || token.text == "True") return constant(true);
    if (token.text == "false" || token.text == "False") return constant(false);
    if (token.text == "none" || token.text == "None") return constant(Value());
    for (const std::string_view other :
         {"self", "super", "caller", "varargs", "kwargs", "cycler", "joiner", "lipsum"}) {
      if (token.text == other) cursor_.wrong(joined("uses ", quoted(other), ", which attend does not have"));
    }
    return make(ExpressionKind::name, {}, token.text);
  }
  if (token.kind == TokenKind::string) {
    std::string text;
    while (cursor_.is(TokenKind::string)) text += cursor_.take().text;
    return constant(Value(std::string_view(text)));
  }
  if (token.kind == TokenKind::integer) {
    cursor_.take();
    std::int64_t value = 0;
    const char* const end = token.text.data() + token.text.size();
    if (std::from_chars(token.text.data(), end, value).ec != std::errc())
      cursor_.wrong("a number is larger than 64 bits");
    return constant(value);
  }
  if (token.kind == TokenKind::number) {
    cursor_.take();
    double value = 0;
    std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
    return constant(value);
  }
  if (cursor_.take_sign("(")) {
    ExpressionPointer value = tuple(true, true);
    cursor_.need_sign(")");
    return value;
  }
  if (cursor_.take_sign("[")) {
    std::vector<ExpressionPointer> parts;
    while (!cursor_.is_sign("]")) {
      parts.push_back(expression());
      if (!cursor_.take_sign(",")) break;
    }
    cursor_.need_sign("]");
    return make(ExpressionKind::list, std::move(parts));
  }
  if (cursor_.take_sign("{")) return dict();
  cursor_.unexpected("an expression");
}

ExpressionPointer ExpressionParser::dict() {
  std::vector<ExpressionPointer> parts;
  while (!cursor_.is_sign("}")) {
    parts.push_back(expression());
    cursor_.need_sign(":");
    parts.push_back(expression());
    if (!cursor_.take_sign(",")) break;
  }
  cursor_.need_sign("}");
  return make(ExpressionKind::dict, std::move(parts));
}

ExpressionPointer ExpressionParser::postfix(ExpressionPointer value) {
  for (;;) {
    if (cursor_.is_sign(".") || cursor_.is_sign("[")) {
      value = subscript(std::move(value));
    } else if (cursor_.is_sign("(")) {
      value = call(std::move(value));
    } else {
      return value;
    }
  }
}

ExpressionPointer ExpressionParser::subscript(ExpressionPointer value) {
  if (cursor_.take_sign(".")) {
    if (cursor_.is(TokenKind::integer)) {
      ExpressionPointer key = primary();
      return make(ExpressionKind::item, parts_of(std::move(value), std::move(key)));
    }
    return make(ExpressionKind::attribute, parts_of(std::move(value)),
                cursor_.need_name("a name after the dot"));
  }
  cursor_.need_sign("[");
  const auto bound = [&]() -> ExpressionPointer {
    const bool none = cursor_.is_sign(":") || cursor_.is_sign("]");
    return none ? nullptr : expression();
  };
  ExpressionPointer key = bound();
  if (cursor_.take_sign(":")) {
    ExpressionPointer end = bound();
    ExpressionPointer step = cursor_.take_sign(":") ? bound() : nullptr;
    key = make(ExpressionKind::slice, parts_of(std::move(key), std::move(end), std::move(step)));
  }
  if (key == nullptr) cursor_.unexpected("an index");
  if (cursor_.is_sign(",")) cursor_.wrong("uses an index of several parts, which attend does not have");
  cursor_.need_sign("]");
  return make(ExpressionKind::item, parts_of(std::move(value), std::move(key)));
}

void ExpressionParser::arguments(Expression& owner) {
  cursor_.need_sign("(");
  while (!cursor_.is_sign(")")) {
    if (cursor_.is_sign("*") || cursor_.is_sign("**"))
      cursor_.wrong("uses * or ** in a call, which attend does not have");
    const bool is_keyword =
        cursor_.is(TokenKind::name) && cursor_.next().kind == TokenKind::sign && cursor_.next().text == "=";
    ExpressionPointer value;
    if (is_keyword) {
      const std::string keyword = cursor_.take().text;
      cursor_.take();
      owner.keywords.emplace_back(keyword, expression());
      owner.height = std::max(owner.height, owner.keywords.back().second->height + 1);
    } else {
      if (!owner.keywords.empty()) cursor_.wrong("an argument without a name follows one with a name");
      owner.parts.push_back(expression());
      owner.height = std::max(owner.height, owner.parts.back()->height + 1);
    }
    if (!cursor_.take_sign(",")) break;
  }
  cursor_.need_sign(")");
}

ExpressionPointer ExpressionParser::call(ExpressionPointer value) {
  if (value->kind == ExpressionKind::name) {
    called.emplace_back(value->name, cursor_.now().line);
  } else if (value->kind == ExpressionKind::attribute) {
    if (!is_method(value->name))
      cursor_.wrong(joined("calls the method ", quoted(value->name), ", which attend does not have"));
  } else {
    cursor_.wrong("calls what is not a name, which attend does not have");
  }
  ExpressionPointer made = make(ExpressionKind::call, parts_of(std::move(value)));
  arguments(*made);
  return made;
}

ExpressionPointer ExpressionParser::filters_of(ExpressionPointer value, bool starts_here) {
  if (starts_here) value = filter(std::move(value));
  for (;;) {
    if (cursor_.take_sign("|")) {
      value = filter(std::move(value));
    } else if (cursor_.is_word("is")) {
      cursor_.take();
      value = test(std::move(value));
    } else if (cursor_.is_sign("(")) {
      value = call(std::move(value));
    } else {
      return value;
    }
  }
}

ExpressionPointer ExpressionParser::filter(ExpressionPointer value) {
  ExpressionPointer made =
      make(ExpressionKind::filter, parts_of(std::move(value)), cursor_.need_name("the name of a filter"));
  made->filter = find_filter(made->name);
  if (made->filter == nullptr)
    cursor_.wrong(joined("uses the filter ", quoted(made->name), ", which attend does not have"));
  if (cursor_.is_sign("(")) arguments(*made);
  check_filter_arguments(*made, cursor_);
  return made;
}

ExpressionPointer ExpressionParser::test(ExpressionPointer value) {
  const bool negated = cursor_.take_word("not");
  ExpressionPointer made =
      make(ExpressionKind::test, parts_of(std::move(value)), cursor_.need_name("the name of a test"));
  made->test = find_test(made->name);
  if (made->test == nullptr)
    cursor_.wrong(joined("uses the test ", quoted(made->name), ", which attend does not have"));
  const bool is_word = cursor_.is_word("else") || cursor_.is_word("or") || cursor_.is_word("and") ||
                       cursor_.is_word("if") || cursor_.is_word("in") || cursor_.is_word("not");
  const bool has_argument = cursor_.is(TokenKind::string) || cursor_.is(TokenKind::integer) ||
                            cursor_.is(TokenKind::number) || cursor_.is_sign("[") || cursor_.is_sign("{") ||
                            (cursor_.is(TokenKind::name) && !is_word);
  if (cursor_.is_sign("(")) {
    arguments(*made);
  } else if (has_argument) {
    if (cursor_.is_word("is")) cursor_.wrong("a test follows a test");
    ExpressionPointer argument = primary();
    made->parts.push_back(postfix(std::move(argument)));
    made->height = std::max(made->height, made->parts.back()->height + 1);
  }
  if (made->parts.size() - 1 != made->test->arguments || !made->keywords.empty())
    cursor_.wrong(joined("the test ", quoted(made->name), " takes ", made->test->arguments, " arguments"));
  return negated ? make(ExpressionKind::negation, parts_of(std::move(made))) : std::move(made);
}

}  // namespace attend::chat
