#include "learn/task.h"

#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_map>

#include "io/utf8.h"
#include "text/byte_alphabet.h"

namespace attend::learn {
namespace {

using Json = nlohmann::ordered_json;

Json empty_tokenizer() {
  return {{"version", "1.0"},          {"truncation", nullptr},
          {"padding", nullptr},        {"added_tokens", Json::array()},
          {"normalizer", nullptr},     {"pre_tokenizer", nullptr},
          {"post_processor", nullptr}, {"decoder", nullptr},
          {"model", nullptr}};
}

// {"first": 0, "second": 1, ...}; a word that comes twice has its last number. An ordered object searches all
// of its keys on each insertion, which takes minutes for 10^5 words; so they are appended to its list
// directly.
Json numbered(const std::vector<std::string>& words) {
  Json json = Json::object();
  auto& list = static_cast<Json::object_t::Container&>(json.get_ref<Json::object_t&>());
  std::unordered_map<std::string_view, std::size_t> places;
  for (std::size_t id = 0; id < words.size(); ++id) {
    const auto [place, is_new] = places.emplace(words[id], list.size());
    if (is_new) {
      list.emplace_back(words[id], id);
    } else {
      list[place->second].second = id;
    }
  }
  return json;
}

}  // namespace

std::unique_ptr<Task> make_task(const Config& config) {
  check(config);
  if (config.task == "recall") return make_recall(config);
  if (config.task == "copy") return make_copy(config);
  if (config.task == "reverse") return make_reverse(config);
  if (config.task == "text") return make_text(config);
  if (config.task == "masked") return make_masked(config);
  if (config.task == "pairs") return make_pairs(config);
  if (config.task == "it") throw ConfigError("task", "\"it\" fits two matrices, and is not a model to train");
  (void)default_config(config.task);  // throws for an unknown task
  return nullptr;
}

std::string word_tokenizer(const std::vector<std::string>& words, const std::string& start) {
  Json json = empty_tokenizer();
  const Json vocabulary = numbered(words);
  json["pre_tokenizer"] = {{"type", "WhitespaceSplit"}};
  json["model"] = {{"type", "WordPiece"},
                   {"unk_token", words.back()},
                   {"continuing_subword_prefix", "##"},
                   {"max_input_chars_per_word", 100},
                   {"vocab", vocabulary}};
  if (!start.empty()) {
    const auto sequence = [](const char* which, int type) {
      return Json{{"Sequence", {{"id", which}, {"type_id", type}}}};
    };
    const Json before_target{{"SpecialToken", {{"id", start}, {"type_id", 1}}}};
    json["post_processor"] = {
        {"type", "TemplateProcessing"},
        {"single", {sequence("A", 0)}},
        {"pair", {sequence("A", 0), before_target, sequence("B", 1)}},
        {"special_tokens", {{start, {{"id", start}, {"ids", {vocabulary.at(start)}}, {"tokens", {start}}}}}}};
  }
  return json.dump(1) + "\n";
}

std::string byte_tokenizer(bool mask) {
  Json json = empty_tokenizer();
  Json vocabulary = Json::object();
  for (std::size_t byte = 0; byte < 256; ++byte) {
    std::string character;
    io::append_char(character, text::kByteAlphabet.character[byte]);
    vocabulary[character] = byte;
  }
  const Json level{
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}};
  if (mask) {
    json["added_tokens"].push_back({{"id", 256},
                                    {"content", "[MASK]"},
                                    {"single_word", false},
                                    {"lstrip", false},
                                    {"rstrip", false},
                                    {"normalized", false},
                                    {"special", true}});
  }
  json["pre_tokenizer"] = level;
  json["decoder"] = level;
  json["model"] = {{"type", "BPE"},
                   {"dropout", nullptr},
                   {"unk_token", nullptr},
                   {"continuing_subword_prefix", nullptr},
                   {"end_of_word_suffix", nullptr},
                   {"fuse_unk", false},
                   {"byte_fallback", false},
                   {"vocab", vocabulary},
                   {"merges", Json::array()}};
  return json.dump(1) + "\n";
}

}  // namespace attend::learn
