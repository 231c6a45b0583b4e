// Templates against what jinja2 makes of them (tools/golden/make_chat_templates.py).
#include <attend/file_error.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <string>

#include "chat/render.h"

namespace attend::chat {
namespace {

Value value_of_json(const simdjson::dom::element& element) {
  switch (element.type()) {
    case simdjson::dom::element_type::ARRAY: {
      Values items;
      for (const auto item : element.get_array()) items.push_back(value_of_json(item));
      return Value::list(std::move(items));
    }
    case simdjson::dom::element_type::OBJECT: {
      std::vector<std::pair<Value, Value>> items;
      for (const auto field : element.get_object()) items.emplace_back(field.key, value_of_json(field.value));
      return Value::dict(std::move(items));
    }
    case simdjson::dom::element_type::STRING:
      return Value(element.get_string().value());
    case simdjson::dom::element_type::BOOL:
      return element.get_bool().value();
    case simdjson::dom::element_type::NULL_VALUE:
      return Value();
    case simdjson::dom::element_type::DOUBLE:
      return element.get_double().value();
    default:
      return element.get_int64().value();
  }
}

struct Outcome {
  std::optional<std::string> text;
  std::string refused;  // when it was parsed
  std::string error;    // of either kind
};

// A line leaves out the template or the context that it shares with the line before.
class Cases {
 public:
  Outcome outcome_of(const simdjson::dom::element& line) {
    std::string_view source;
    simdjson::dom::object context;
    if (line["template"].get(source) == simdjson::SUCCESS) source_ = source;
    if (line["context"].get(context) == simdjson::SUCCESS) {
      context_.clear();
      for (const auto field : context) context_.emplace(field.key, value_of_json(field.value));
    }
    Outcome outcome;
    std::tm now{};
    ::strptime("2026-03-09 08:05:07", "%Y-%m-%d %H:%M:%S", &now);
    try {
      const ChatTemplate parsed = ChatTemplate::parse(source_);
      try {
        outcome.text = render(parsed.parts(), context_, now).bytes;
      } catch (const FileError& error) {
        outcome.error = error.what();
      }
    } catch (const FileError& error) {
      outcome.error = outcome.refused = error.what();
    }
    return outcome;
  }
  const std::string& source() const { return source_; }

 private:
  std::string source_;
  Scope context_;
};

TEST(GoldenTemplates, AreThoseOfJinja) {
  simdjson::dom::parser parser;
  Cases cases;
  std::size_t rendered = 0, failed = 0;
  for (auto line : parser.load_many(ATTEND_GOLDEN_CHAT "/cases.jsonl", 4'000'000)) {
    const std::string_view name = line["name"];
    const Outcome outcome = cases.outcome_of(line.value());
    const std::string& source = cases.source();
    std::string_view expected;
    if (line["expected"].get(expected) == simdjson::SUCCESS) {
      EXPECT_EQ(outcome.text, std::optional<std::string>(expected)) << name << ": " << source << "\n"
                                                                    << outcome.error;
      ++rendered;
    } else {
      EXPECT_FALSE(outcome.text) << name << ": " << source << "\ngave: " << outcome.text.value_or("");
      ++failed;
    }
  }
  EXPECT_GT(rendered, 500u);
  EXPECT_GT(failed, 100u);
}

// A file of cases made from a folder of templates by hand; says how many are equal, refused and different.
TEST(GoldenTemplates, DISABLED_OfAFolderAreThoseOfJinja) {
  const char* const file = std::getenv("ATTEND_CHAT_CASES");
  ASSERT_NE(file, nullptr) << "ATTEND_CHAT_CASES names no file";
  simdjson::dom::parser parser;
  Cases cases;
  std::map<std::string, std::string> refused;
  std::map<std::string, std::size_t> equal, late;
  std::size_t different = 0;
  for (auto line : parser.load_many(file, 40'000'000)) {
    const std::string whole_name(std::string_view(line["name"].value()));
    const std::string name = whole_name.substr(0, whole_name.rfind(' '));
    const Outcome outcome = cases.outcome_of(line.value());
    std::string_view expected;
    const bool renders = line["expected"].get(expected) == simdjson::SUCCESS;
    if (!outcome.refused.empty()) {
      refused[name] = outcome.refused;
    } else if (renders && !outcome.text) {
      ++late[name + ": " + outcome.error];
    } else if (renders != outcome.text.has_value() || (renders && *outcome.text != expected)) {
      ++different;
      ADD_FAILURE() << whole_name << "\n"
                    << outcome.error << "\nexpected: " << (renders ? expected : "a failure")
                    << "\nfound:    " << outcome.text.value_or("a failure");
    } else {
      ++equal[name];
    }
  }
  for (const auto& [name, error] : refused) std::cout << "refused " << name << ": " << error << "\n";
  for (const auto& [name, count] : late) std::cout << "fails in " << count << " cases, " << name << "\n";
  std::cout << equal.size() << " templates render, " << refused.size() << " are refused, " << different
            << " cases differ\n";
}

}  // namespace
}  // namespace attend::chat
