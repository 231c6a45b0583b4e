// Our UTF-8 and our JSON, judged by simdjson.
#include <gtest/gtest.h>
#include <simdjson.h>

#include <random>
#include <string>
#include <string_view>

#include "io/json_document.h"
#include "io/utf8.h"

namespace attend::io {
namespace {

void expect_same_verdict(std::string_view text) {
  ASSERT_EQ(is_utf8(text), simdjson::validate_utf8(text.data(), text.size())) << shown(text);
}

TEST(JudgedUtf8, EveryThreeBytes) {
  std::string text = "...";
  for (int first = 0x7F; first < 0x100; ++first) {
    for (int second = 0x7F; second < 0x100; ++second) {
      for (const int third : {0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC2, 0xE1, 0xFF}) {
        text[0] = static_cast<char>(first);
        text[1] = static_cast<char>(second);
        text[2] = static_cast<char>(third);
        expect_same_verdict(text);
        expect_same_verdict(std::string_view(text).substr(0, 2));
      }
    }
  }
}

TEST(JudgedUtf8, RandomBytesAtEveryPlace) {
  std::mt19937 random(7);
  constexpr std::string_view kLikely = "ab\x80\x9F\xBF\xC2\xC3\xE0\xE4\xED\xEF\xF0\xF4";
  for (int i = 0; i < 100'000; ++i) {
    std::string text(random() % 20, 'x');
    for (std::size_t k = random() % 6; k > 0; --k) text += kLikely[random() % kLikely.size()];
    text.append(random() % 12, 'y');
    expect_same_verdict(text);
    ASSERT_TRUE(is_utf8(repair_utf8(text)));
  }
}

// The same tree, written out in one way.
std::string written(const JsonValue& value) {
  std::string text;
  switch (value.kind()) {
    case JsonKind::object:
      for (const auto& [key, member] : value.members())
        text.append(",").append(key).append(":").append(written(member));
      return "{" + text + "}";
    case JsonKind::array:
      for (const JsonValue element : value.elements()) text.append(",").append(written(element));
      return "[" + text + "]";
    case JsonKind::string:
      return "'" + std::string(value.string()) + "'";
    case JsonKind::number:
      return std::to_string(value.number() + 0.0);  // -0, a whole number there, is 0
    case JsonKind::boolean:
      return value.boolean() ? "true" : "false";
    case JsonKind::null:
      return "null";
  }
  return "";
}

std::string written(simdjson::dom::element value) {
  std::string text;
  switch (value.type()) {
    case simdjson::dom::element_type::OBJECT:
      for (const auto field : simdjson::dom::object(value))
        text.append(",").append(field.key).append(":").append(written(field.value));
      return "{" + text + "}";
    case simdjson::dom::element_type::ARRAY:
      for (const auto element : simdjson::dom::array(value)) text.append(",").append(written(element));
      return "[" + text + "]";
    case simdjson::dom::element_type::STRING:
      return "'" + std::string(std::string_view(value)) + "'";
    case simdjson::dom::element_type::BOOL:
      return bool(value) ? "true" : "false";
    case simdjson::dom::element_type::NULL_VALUE:
      return "null";
    default:
      return std::to_string(double(value) + 0.0);
  }
}

// Good texts with a few characters exchanged, left out or doubled: the same verdict, and the same tree. Keys
// that come twice, which simdjson takes, are left out, and numbers beyond all doubles.
TEST(JudgedJson, DamagedTexts) {
  constexpr std::string_view kGood[] = {
      R"({"a":[1,-2.5e3,true,false,null,{"b":"\u00e9\ud83d\ude00\n\\\"\/"}],"c":{},"d":[[],""]})",
      R"( [ 0 , 10.01 , "x y" , { "k" : [ 1e-5 , 1E+2 ] } , [ ] ] )", R"("only \t a \u0041 string")",
      R"([[[["deep",{"e":{"f":[0.5]}}]]],-0,-0.0,123456789012])"};
  constexpr std::string_view kLikely = "{}[]\",:\\u0e-+.1tn \n\x01\xC3\xA9";
  std::mt19937 random(11);
  simdjson::dom::parser parser;
  int good = 0;
  for (int i = 0; i < 60'000; ++i) {
    std::string text(kGood[random() % std::size(kGood)]);
    for (std::size_t change = random() % 3; change > 0; --change) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = kLikely[random() % kLikely.size()];
          break;
        case 1:
          text.erase(at, 1);
          break;
        default:
          text.insert(at, 1, kLikely[random() % kLikely.size()]);
      }
    }
    std::string ours, theirs;
    bool only_ours = false;
    try {
      ours = written(JsonDocument("file", text).root());
    } catch (const FileError& error) {
      ours = "refused";
      only_ours =
          error.rule() == "occurs twice" || error.rule().find("outside the range") != std::string::npos;
    }
    simdjson::dom::element root;
    theirs = parser.parse(text).get(root) == simdjson::SUCCESS ? written(root) : "refused";
    if (only_ours) continue;
    ASSERT_EQ(ours, theirs) << text;
    good += ours != "refused";
  }
  EXPECT_GT(good, 15'000);
}

}  // namespace
}  // namespace attend::io
