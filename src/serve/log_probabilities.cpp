#include "serve/log_probabilities.h"

#include <algorithm>

namespace attend::serve {
namespace {

using Json = nlohmann::ordered_json;

// JSON has no infinity; this is what OpenAI sends for what is all but impossible.
constexpr double kImpossible = -9999;

double told(double log_probability) { return std::max(log_probability, kImpossible); }

std::int64_t characters_in(std::string_view text) {
  return std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

// Null for a token that is a part of a character: what stands for it in a text is not its bytes.
Json bytes_of(const std::string& text) {
  if (text.find("\xEF\xBF\xBD") != std::string::npos) return nullptr;
  Json bytes = Json::array();
  for (const char c : text) bytes.push_back(static_cast<unsigned char>(c));
  return bytes;
}

Json entry(const std::string& text, double log_probability) {
  return {{"token", text}, {"logprob", told(log_probability)}, {"bytes", bytes_of(text)}};
}

}  // namespace

// As it stands after the token before it: many decoders leave out the blank at the start of a text.
std::string LogProbabilities::text_of(std::int32_t id) const {
  const std::int32_t both[] = {previous_, id};
  const std::string before = tokenizer_.decode(std::span(both, 1), false),
                    all = tokenizer_.decode(both, false);
  return all.starts_with(before) ? all.substr(before.size())
                                 : tokenizer_.decode(std::span(both + 1, 1), false);
}

Json LogProbabilities::completion(std::span<const GeneratedToken> tokens) {
  Json texts = Json::array(), own = Json::array(), top = Json::array(), offsets = Json::array();
  for (const GeneratedToken& token : tokens) {
    const std::string text = text_of(token.id);
    texts.push_back(text);
    own.push_back(told(token.log_probability));
    Json others = Json::object();
    for (const TokenLogProbability& other : token.most_probable)
      others.emplace(text_of(other.id), told(other.log_probability));
    others.emplace(text, told(token.log_probability));  // the one that was drawn is always there
    top.push_back(token.most_probable.empty() ? Json() : std::move(others));
    offsets.push_back(characters_);
    characters_ += characters_in(text);
    previous_ = token.id;
  }
  return {{"tokens", texts}, {"token_logprobs", own}, {"top_logprobs", top}, {"text_offset", offsets}};
}

Json LogProbabilities::chat(std::span<const GeneratedToken> tokens) {
  Json content = Json::array();
  for (const GeneratedToken& token : tokens) {
    Json told = entry(text_of(token.id), token.log_probability);
    Json others = Json::array();
    for (const TokenLogProbability& other : token.most_probable)
      others.push_back(entry(text_of(other.id), other.log_probability));
    told["top_logprobs"] = std::move(others);
    content.push_back(std::move(told));
    previous_ = token.id;
  }
  return {{"content", content}, {"refusal", nullptr}};
}

}  // namespace attend::serve
