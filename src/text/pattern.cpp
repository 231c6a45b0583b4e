#include "text/pattern.h"

namespace attend::text {
namespace {

// The expression of GPT-2, RoBERTa and many after them.
constexpr std::string_view kGpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

class StringPattern final : public Pattern {
 public:
  explicit StringPattern(std::string_view string) : string_(string) {}

  void find(std::string_view text, std::size_t begin, std::size_t end, std::vector<Match>& matches,
            Allowance&) const override {
    const std::string_view inside = text.substr(0, end);
    for (std::size_t at = begin; (at = inside.find(string_, at)) != std::string_view::npos;
         at += string_.size()) {
      matches.push_back({at, at + string_.size()});
    }
  }

 private:
  std::string string_;
};

// Passes on to a pattern that lives for ever.
class Shared final : public Pattern {
 public:
  explicit Shared(const Pattern& pattern) : pattern_(pattern) {}
  void find(std::string_view text, std::size_t begin, std::size_t end, std::vector<Match>& matches,
            Allowance& allowance) const override {
    pattern_.find(text, begin, end, matches, allowance);
  }

 private:
  const Pattern& pattern_;
};

}  // namespace

std::unique_ptr<const Pattern> read_pattern(const io::JsonValue& pattern) {
  pattern.only_keys({"String", "Regex"});
  if (const auto string = pattern.find("String")) {
    if (pattern.find("Regex")) pattern.fail("has both a String and a Regex");
    if (string->string().empty()) string->fail("is empty");
    return std::make_unique<StringPattern>(string->string());
  }
  const io::JsonValue regex = pattern.at("Regex");
  if (regex.string() == kGpt2) return std::make_unique<Shared>(gpt2_pattern());
  return compile_pattern(regex, regex.string());
}

}  // namespace attend::text
