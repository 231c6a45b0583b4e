#include "doctor/preparations.h"

#include <algorithm>
#include <array>

#include "io/utf8.h"
#include "text/unicode.h"

namespace attend::doctor {
namespace {

// Prompts that models are often used with although no file mentions them.
constexpr std::array kUsualPrompts = {
    "query: ", "passage: ", "Represent this sentence for searching relevant passages: "};

std::string_view stripped(std::string_view text) {
  std::size_t begin = 0, end = text.size();
  for (std::size_t next = 0; begin < end; begin = next) {
    if (!text::is(io::next_char(text, next), text::kWhite)) break;
  }
  for (std::size_t last = end; begin < end; end = last) {
    if (!text::is(io::previous_char(text, last), text::kWhite)) break;
  }
  return text.substr(begin, end - begin);
}

}  // namespace

Preparation usual_preparation(const TextModel& model) {
  return {.cause = "",
          .setting = "",
          .meaning = "",
          .prompt = model.prompt_of({}),
          .max_tokens = model.max_tokens(),
          .lower_case = model.files().lower_case};
}

std::vector<Preparation> other_preparations(const TextModel& model) {
  const Preparation usual = usual_preparation(model);
  std::vector<Preparation> preparations;
  const auto add = [&](std::string cause, std::string setting, std::string meaning) -> Preparation& {
    preparations.push_back(usual);
    preparations.back().cause = std::move(cause);
    preparations.back().setting = std::move(setting);
    preparations.back().meaning = std::move(meaning);
    return preparations.back();
  };

  const std::int64_t positions = model.transformer().description().max_tokens();
  std::vector<std::int64_t> limits{128, 256, 384, 512, positions};
  if (const auto limit = model.tokenizer().max_length()) limits.push_back(*limit);
  std::sort(limits.begin(), limits.end());
  limits.erase(std::unique(limits.begin(), limits.end()), limits.end());
  for (const std::int64_t limit : limits) {
    if (limit == usual.max_tokens || limit > positions || limit <= model.tokenizer().special_count())
      continue;
    const std::string tokens = std::to_string(limit) + " tokens";
    if (limit == positions) {
      add("truncation", tokens + " (every position)",
          "the reference used all " + std::to_string(limit) + " positions")
          .max_tokens = limit;
    } else {
      add("truncation", tokens, "the reference cut its texts at " + tokens).max_tokens = limit;
    }
  }
  if (usual.lower_case) {
    add("tokenization", "case kept", "the reference did not lower-case its texts").lower_case = false;
  } else {
    add("tokenization", "lower case", "the reference lower-cased its texts").lower_case = true;
  }
  add("tokenization", "ends stripped", "the reference stripped its texts").strip = true;
  if (model.tokenizer().special_count() > 0) {
    add("tokenization", "no special tokens", "the reference was made without special tokens").special_tokens =
        false;
  }
  const auto prompt = [&](const std::string& name, const std::string& text, const std::string& meaning) {
    const bool known = text == usual.prompt ||
                       std::any_of(preparations.begin(), preparations.end(), [&](const Preparation& r) {
                         return r.cause == "prompt" && r.prompt == text;
                       });
    if (!known) add("prompt", name, meaning).prompt = text;
  };
  prompt("none", "", "the reference was made without a prompt");
  for (const auto& [name, text] : model.files().prompts)
    prompt(name, text, "the reference was made with the prompt \"" + name + "\"");
  for (const char* const text : kUsualPrompts)
    prompt("\"" + std::string(text) + "\"", text,
           "the reference was made with the prompt \"" + std::string(text) + "\"");
  return preparations;
}

std::vector<Encoding> encode(const TextModel& model, std::span<const std::string> texts,
                             const Preparation& preparation) {
  std::vector<Encoding> encodings;
  for (const std::string& text : texts) {
    std::string whole = preparation.prompt + text;
    if (!io::is_utf8(whole)) whole = io::repair_utf8(whole);
    encodings.push_back(model.tokenizer().encode(preparation.strip ? stripped(whole) : whole,
                                                 {.add_special_tokens = preparation.special_tokens,
                                                  .max_length = preparation.max_tokens,
                                                  .lower_case = preparation.lower_case}));
  }
  return encodings;
}

}  // namespace attend::doctor
