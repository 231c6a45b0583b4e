#include "model/generation_defaults.h"

#include <attend/gguf.h>

#include <algorithm>
#include <limits>

#include "io/fail.h"
#include "io/json_document.h"
#include "io/json_fields.h"
#include "io/open_file.h"

namespace attend::model {
namespace {

io::JsonDocument json_of(const ModelFile& file) {
  return io::JsonDocument(io::read_text(*file.opened(), io::kMaxConfigBytes));
}

constexpr std::int64_t kLargestId = std::numeric_limits<std::int32_t>::max();

// One id or several. -1 is written where there is none.
std::vector<std::int32_t> ids_at(const io::JsonValue& object, std::string_view key) {
  std::vector<std::int32_t> ids;
  const auto add = [&](const io::JsonValue& value) {
    const std::int64_t id = value.integer(-1, kLargestId);
    if (id >= 0) ids.push_back(static_cast<std::int32_t>(id));
  };
  const std::optional<io::JsonValue> found = object.find(key);
  if (!found) return ids;
  if (found->is_array()) {
    for (const io::JsonValue one : found->elements(1000)) add(one);
  } else {
    add(*found);
  }
  return ids;
}

// A token's text: a string, or an object that has it as `content`.
std::string token_text(const io::JsonValue& object, std::string_view key) {
  const std::optional<io::JsonValue> found = object.find(key);
  if (!found) return {};
  return std::string(found->is_object() ? found->at("content").string() : found->string());
}

double number_between(const io::JsonValue& value, double low, double high) {
  const double number = value.number();
  if (!(number >= low && number <= high)) value.fail("is ", number, ", expected ", low, " to ", high);
  return number;
}

// Keys that change what is written and are not there, with the value that asks for nothing.
constexpr std::pair<std::string_view, double> kNotThere[] = {{"num_beams", 1},
                                                             {"num_beam_groups", 1},
                                                             {"penalty_alpha", 0},
                                                             {"typical_p", 1},
                                                             {"epsilon_cutoff", 0},
                                                             {"eta_cutoff", 0},
                                                             {"diversity_penalty", 0},
                                                             {"encoder_repetition_penalty", 1},
                                                             {"no_repeat_ngram_size", 0},
                                                             {"encoder_no_repeat_ngram_size", 0},
                                                             {"top_h", 0},
                                                             {"min_length", 0},
                                                             {"min_new_tokens", 0},
                                                             {"guidance_scale", 1}};
constexpr std::string_view kNotThereAtAll[] = {"bad_words_ids",
                                               "forced_bos_token_id",
                                               "forced_eos_token_id",
                                               "suppress_tokens",
                                               "begin_suppress_tokens",
                                               "sequence_bias",
                                               "exponential_decay_length_penalty",
                                               "stop_strings",
                                               "dola_layers"};

void read_generation_config(const io::JsonValue& root, GenerationDefaults& defaults) {
  Sampling& sampling = defaults.sampling;
  const auto number = [&](std::string_view key, double low, double high, double usual) {
    const std::optional<io::JsonValue> found = root.find(key);
    return found ? number_between(*found, low, high) : usual;
  };
  // transformers' own defaults for what such a file leaves out.
  const bool draws = root.boolean("do_sample", false);
  sampling.temperature = draws ? number("temperature", 0, 1e6, 1) : 0;
  const std::optional<io::JsonValue> top_k = root.find("top_k");
  sampling.top_k = top_k ? top_k->integer(0, kLargestId) : 50;
  sampling.top_p = number("top_p", 0, 1, 1);
  sampling.min_p = number("min_p", 0, 1, 0);
  sampling.repetition_penalty = number("repetition_penalty", 1e-6, 1e6, 1);
  if (const auto most = root.find("max_new_tokens")) defaults.max_tokens = most->integer(1, kLargestId);
  defaults.end_tokens = ids_at(root, "eos_token_id");
  const std::vector<std::int32_t> begin = ids_at(root, "bos_token_id");
  if (!begin.empty()) defaults.begin_token = begin.front();
  for (const auto& [key, nothing] : kNotThere) {
    const std::optional<io::JsonValue> found = root.find(key);
    if (found && (!found->is_number() || found->number() != nothing)) defaults.left_out.emplace_back(key);
  }
  for (const std::string_view key : kNotThereAtAll) {
    if (root.find(key)) defaults.left_out.emplace_back(key);
  }
}

// Of a GGUF file, which has no settings of sampling. A model for conversations ends with the token that ends
// a turn, too (eot, eom).
void read_gguf_tokens(const ModelFile& file, GenerationDefaults& defaults) {
  const Gguf gguf = Gguf::open(file);
  const auto id = [&](std::string_view name) -> std::optional<std::int32_t> {
    const std::string key = "tokenizer.ggml." + std::string(name) + "_token_id";
    if (!gguf.contains(key)) return std::nullopt;
    return static_cast<std::int32_t>(gguf.integer(key, 0, kLargestId));
  };
  defaults.begin_token = id("bos");
  for (const std::string_view name : {"eos", "eot", "eom"}) {
    if (const auto end = id(name)) defaults.end_tokens.push_back(*end);
  }
}

bool is_gguf(const ModelFiles& files) { return !files.config.empty() && Gguf::recognises(files.config); }

}  // namespace

GenerationDefaults read_generation_defaults(const TextModel& model) {
  const ModelFiles& files = model.files();
  const bool answers = model.transformer().description().has_source();
  GenerationDefaults defaults;
  defaults.sampling.temperature = answers ? 0 : 0.8;
  defaults.sampling.top_k = 40;
  if (!files.generation_config.empty()) {
    const io::JsonDocument document = json_of(files.generation_config);
    read_generation_config(document.root(), defaults);
  }
  if (is_gguf(files)) {
    read_gguf_tokens(files.config, defaults);
  } else {
    const io::JsonDocument document = json_of(files.config);
    if (defaults.end_tokens.empty()) defaults.end_tokens = ids_at(document.root(), "eos_token_id");
    const std::vector<std::int32_t> begin = ids_at(document.root(), "bos_token_id");
    if (!defaults.begin_token && !begin.empty()) defaults.begin_token = begin.front();
  }
  const Tokenizer& tokenizer = model.tokenizer();
  if (!files.tokenizer_config.empty()) {
    const io::JsonDocument document = json_of(files.tokenizer_config);
    defaults.begin_text = token_text(document.root(), "bos_token");
    defaults.end_text = token_text(document.root(), "eos_token");
    const auto begin = tokenizer.id(defaults.begin_text), end = tokenizer.id(defaults.end_text);
    if (begin) defaults.begin_token = *begin;
    if (defaults.end_tokens.empty() && end) defaults.end_tokens.push_back(*end);
  }
  // A configuration may keep the ids of a larger vocabulary, which are never written.
  const std::int64_t size = tokenizer.vocabulary_size();
  if (defaults.begin_token && *defaults.begin_token >= size) defaults.begin_token.reset();
  std::erase_if(defaults.end_tokens, [&](std::int32_t id) { return id >= size; });
  const auto text_of_id = [&](std::int32_t id) { return std::string(tokenizer.token(id)); };
  if (defaults.begin_text.empty() && defaults.begin_token)
    defaults.begin_text = text_of_id(*defaults.begin_token);
  if (defaults.end_text.empty() && !defaults.end_tokens.empty())
    defaults.end_text = text_of_id(defaults.end_tokens.front());
  return defaults;
}

std::optional<TemplateSource> read_chat_template(const ModelFiles& files) {
  if (!files.chat_template.empty()) {
    const io::FileText text = io::read_text(*files.chat_template.opened(), io::kMaxConfigBytes);
    return TemplateSource{files.chat_template.string(), std::string(text.memory.get(), text.size)};
  }
  if (is_gguf(files)) {
    constexpr std::string_view kKey = "tokenizer.chat_template";
    const Gguf gguf = Gguf::open(files.config);
    if (!gguf.contains(kKey)) return std::nullopt;
    return TemplateSource{gguf.file() + ": " + std::string(kKey), std::string(gguf.string(kKey))};
  }
  if (files.tokenizer_config.empty()) return std::nullopt;
  const io::JsonDocument document = json_of(files.tokenizer_config);
  const std::optional<io::JsonValue> found = document.root().find("chat_template");
  if (!found) return std::nullopt;
  const std::string name = files.tokenizer_config.string() + ": chat_template";
  if (!found->is_array()) return TemplateSource{name, std::string(found->string())};
  // Several with names: that for plain conversations.
  for (const io::JsonValue one : found->elements(100)) {
    if (one.at("name").string() == "default")
      return TemplateSource{name, std::string(one.at("template").string())};
  }
  found->fail("has no template named \"default\"");
}

}  // namespace attend::model
