#include <algorithm>
#include <set>

#include "base/error.h"
#include "chat/parser.h"
#include "io/fail.h"

namespace attend::chat {
namespace {

using Body = Statement::Body;

class StatementParser {
 public:
  explicit StatementParser(std::string_view source)
      : cursor_(read_tokens(source)), expressions_(cursor_, depth_) {}

  Body whole() {
    Body body = statements({});
    if (!cursor_.is(TokenKind::end)) cursor_.wrong(joined(io::quoted(cursor_.next().text), " ends nothing"));
    for (const auto& [name, line] : expressions_.called) {
      constexpr std::string_view kFunctions[] = {"range", "dict", "namespace", "raise_exception",
                                                 "strftime_now"};
      const bool known =
          std::find(std::begin(kFunctions), std::end(kFunctions), name) != std::end(kFunctions);
      if (!known && !assigned_.contains(name))
        throw SyntaxError{line, joined("calls ", io::quoted(name), ", which attend does not have")};
    }
    return body;
  }

 private:
  std::unique_ptr<Statement> make(StatementKind kind) const {
    auto made = std::make_unique<Statement>();
    made->kind = kind;
    made->line = cursor_.now().line;
    return made;
  }

  bool ends_with(std::initializer_list<std::string_view> ends) const {
    return cursor_.is(TokenKind::tag_begin) && cursor_.next().kind == TokenKind::name &&
           std::find(ends.begin(), ends.end(), cursor_.next().text) != ends.end();
  }

  // Up to a tag with one of these words, which is left to be read.
  Body statements(std::initializer_list<std::string_view> ends) {
    const Nesting nesting(depth_, cursor_);
    Body body;
    while (!cursor_.is(TokenKind::end) && !ends_with(ends)) {
      if (cursor_.is(TokenKind::data)) {
        auto data = make(StatementKind::data);
        data->text = Text(cursor_.take().text);
        body.push_back(std::move(data));
      } else if (cursor_.is(TokenKind::print_begin)) {
        cursor_.take();
        auto print = make(StatementKind::print);
        print->expression = expressions_.tuple();
        end_of(TokenKind::print_end);
        body.push_back(std::move(print));
      } else {
        body.push_back(tag());
      }
    }
    if (cursor_.is(TokenKind::end) && ends.size() > 0)
      cursor_.wrong(joined("a block lacks its ", *(ends.end() - 1)));
    return body;
  }

  void end_of(TokenKind kind) {
    if (!cursor_.is(kind)) cursor_.unexpected("the end of the tag");
    cursor_.take();
  }
  void end_tag() { end_of(TokenKind::tag_end); }
  // {% word %}, of which the word is known to be there.
  std::string closing_word() {
    cursor_.take();
    return cursor_.take().text;
  }

  std::unique_ptr<Statement> tag() {
    cursor_.take();
    const std::string word = cursor_.need_name("a word that begins a tag");
    if (word == "if") return choice();
    if (word == "for") return loop();
    if (word == "set") return set();
    if (word == "macro") return macro();
    if (word == "filter") return filter_block();
    if (word == "generation") return generation();
    if (word == "break" || word == "continue") return jump(word);
    cursor_.wrong(joined("uses {% ", io::shown(word), " %}, which attend does not have"));
  }

  std::unique_ptr<Statement> choice() {
    auto made = make(StatementKind::choice);
    for (;;) {
      made->conditions.push_back(expressions_.tuple(false));
      end_tag();
      made->bodies.push_back(statements({"elif", "else", "endif"}));
      const std::string word = closing_word();
      if (word == "elif") continue;
      if (word == "else") {
        end_tag();
        made->bodies.push_back(statements({"endif"}));
        closing_word();
      }
      end_tag();
      return made;
    }
  }

  // One name, or several with commas between, perhaps in parentheses.
  void target(Statement& statement) {
    const bool open = cursor_.take_sign("(");
    do {
      if (statement.unpacks && (cursor_.is_sign(")") || cursor_.is_sign("=") || cursor_.is_word("in"))) break;
      statement.target.push_back(cursor_.need_name("a name to set"));
      assigned_.insert(statement.target.back());
      if (cursor_.is_sign(",")) statement.unpacks = true;
    } while (cursor_.take_sign(","));
    if (open) cursor_.need_sign(")");
  }

  std::unique_ptr<Statement> loop() {
    auto made = make(StatementKind::loop);
    target(*made);
    cursor_.need_word("in");
    made->expression = expressions_.tuple(false);
    if (cursor_.take_word("if")) made->condition = expressions_.expression();
    if (cursor_.is_word("recursive")) cursor_.wrong("uses a recursive loop, which attend does not have");
    end_tag();
    ++loops_;
    made->bodies.push_back(statements({"else", "endfor"}));
    --loops_;
    if (closing_word() == "else") {
      end_tag();
      made->bodies.push_back(statements({"endfor"}));
      closing_word();
    }
    end_tag();
    return made;
  }

  std::unique_ptr<Statement> set() {
    auto made = make(StatementKind::set);
    if (cursor_.next().kind == TokenKind::sign && cursor_.next().text == ".") {
      made->sets_attribute = true;
      made->target.push_back(cursor_.need_name("the name of a namespace"));
      cursor_.take();
      made->target.push_back(cursor_.need_name("an attribute of a namespace"));
    } else {
      target(*made);
    }
    if (cursor_.take_sign("=")) {
      made->expression = expressions_.tuple();
      end_tag();
      return made;
    }
    if (made->unpacks) cursor_.unexpected("\"=\"");
    made->kind = StatementKind::set_block;
    if (cursor_.take_sign("|")) made->expression = expressions_.filters_of(nullptr, true);
    end_tag();
    made->bodies.push_back(inner({"endset"}));
    closing_word();
    end_tag();
    return made;
  }

  // The body of a block that is evaluated by itself, so that no jump leaves it.
  Body inner(std::initializer_list<std::string_view> ends) {
    const int outer = std::exchange(loops_, 0);
    Body body = statements(ends);
    loops_ = outer;
    return body;
  }

  std::unique_ptr<Statement> macro() {
    // depth_: 1 in the template itself, more in blocks; {% if %} has no names of its own.
    auto made = make(StatementKind::macro);
    if (loops_ > 0 || in_macro_)
      cursor_.wrong("has a macro in a loop or a macro, which attend does not have");
    made->name = cursor_.need_name("the name of a macro");
    assigned_.insert(made->name);
    cursor_.need_sign("(");
    while (!cursor_.is_sign(")")) {
      std::string name = cursor_.need_name("the name of a parameter");
      ExpressionPointer usual = cursor_.take_sign("=") ? expressions_.expression() : nullptr;
      if (usual == nullptr && !made->parameters.empty() && made->parameters.back().second != nullptr)
        cursor_.wrong("a parameter without a default follows one with a default");
      made->parameters.emplace_back(std::move(name), std::move(usual));
      if (!cursor_.take_sign(",")) break;
    }
    cursor_.need_sign(")");
    end_tag();
    in_macro_ = true;
    made->bodies.push_back(inner({"endmacro"}));
    in_macro_ = false;
    closing_word();
    if (cursor_.is(TokenKind::name)) cursor_.take();  // the name of the macro again
    end_tag();
    return made;
  }

  std::unique_ptr<Statement> filter_block() {
    auto made = make(StatementKind::filter_block);
    made->expression = expressions_.filters_of(nullptr, true);
    end_tag();
    made->bodies.push_back(inner({"endfilter"}));
    closing_word();
    end_tag();
    return made;
  }

  // What a model wrote itself: a mark for training, with names of its own.
  std::unique_ptr<Statement> generation() {
    auto made = make(StatementKind::scope);
    end_tag();
    made->bodies.push_back(inner({"endgeneration"}));
    closing_word();
    end_tag();
    return made;
  }

  std::unique_ptr<Statement> jump(const std::string& word) {
    auto made = make(word == "break" ? StatementKind::stop : StatementKind::next);
    if (loops_ == 0) cursor_.wrong(joined("has a ", word, " outside a loop"));
    end_tag();
    return made;
  }

  TokenCursor cursor_;
  int depth_ = 0, loops_ = 0;
  bool in_macro_ = false;
  ExpressionParser expressions_;
  std::set<std::string> assigned_;
};

}  // namespace

Statement::Body parse_template(std::string_view source) { return StatementParser(source).whole(); }

}  // namespace attend::chat
