// What a model is, according to its folder.
#include <attend/checkpoint.h>

#include <algorithm>

#include "base/error.h"
#include "base/memory_limit.h"
#include "doctor/finite_weights.h"
#include "doctor/sections.h"
#include "draw/number.h"
#include "inventory/weight_totals.h"

namespace attend::doctor {
namespace {

std::string with_commas(std::int64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t place = text.size(); place > 3;) text.insert(place -= 3, ",");
  return text;
}

std::string activation_of(const ModelDescription& description) {
  const std::optional<FeedForwardDescription>& part = description.layers.back().feed_forward;
  if (!part) return "none";
  const std::string name =
      part->activation == Activation::gelu_tanh ? "gelu, by tanh" : std::string(name_of(part->activation));
  return part->gated ? name + ", gated" : name;
}

void add_shape(Section& section, const ModelDescription& description) {
  section.add("family", Json{{"name", description.family}, {"model_type", description.model_type}},
              description.model_type + (description.is_causal() ? ", causal" : ""));
  section.add("layers", description.layer_count(), std::to_string(description.layer_count()));
  const std::int64_t head_size = description.layers.front().attention.head_size;
  section.add("heads", Json{{"count", description.heads()}, {"size", head_size}},
              std::to_string(description.heads()) + " of size " + std::to_string(head_size));
  section.add("sizes",
              Json{{"hidden", description.hidden_size},
                   {"intermediate", description.largest_inner_size()},
                   {"vocabulary", description.vocabulary_size},
                   {"positions", description.max_tokens()}},
              "hidden " + std::to_string(description.hidden_size) + ", intermediate " +
                  std::to_string(description.largest_inner_size()) + ", vocabulary " +
                  std::to_string(description.vocabulary_size) + ", positions " +
                  std::to_string(description.max_tokens()));
  section.add("activation", activation_of(description));
}

void add_weights(Section& section, const Checkpoint& checkpoint) {
  const inventory::WeightTotals totals = inventory::weight_totals(checkpoint);
  section.add("weights",
              Json{{"parameters", totals.parameters}, {"bytes", totals.bytes}, {"types", totals.types}},
              with_commas(totals.parameters) + " parameters, " + inventory::type_names(totals) + ", " +
                  memory_text(static_cast<double>(totals.bytes)) + "; attend computes in F32");
}

// Returns whether all weights are finite. Only the first few tensors are listed for a reader.
bool add_bad_tensors(Section& section, const ModelFiles& files) {
  constexpr std::size_t kMostListed = 3;
  const std::vector<BadTensor> tensors = find_bad_tensors(files);
  if (tensors.empty()) return true;
  Json list = Json::array();
  std::string text;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const BadTensor& tensor = tensors[i];
    list.push_back({{"tensor", tensor.name},
                    {"file", tensor.file},
                    {"count", tensor.count},
                    {"first", tensor.first},
                    {"value", draw::format_short(tensor.value)}});
    if (i < kMostListed) text.append(text.empty() ? "" : "; ").append(sentence_of(tensor));
  }
  if (tensors.size() > kMostListed) text += joined("; and ", tensors.size() - kMostListed, " more tensors");
  section.add("not_finite", std::move(list), text);
  return false;
}

void add_use(Section& section, const TextModel& model) {
  const ModelFiles& files = model.files();
  std::vector<std::string> poolings;
  for (const Pooling pooling : files.pooling) poolings.emplace_back(name_of(pooling));
  section.add("pooling", poolings, joined_names(poolings, "mean, since the folder does not specify any"));
  section.add("normalize", files.normalize, files.normalize ? "yes, vectors of length 1" : "no");
  section.add("embedding_size", model.embedding_size(), std::to_string(model.embedding_size()));
  std::vector<std::string> prompts;
  for (const auto& [name, text] : files.prompts) {
    prompts.push_back(name + " \"" + text + "\"" + (name == files.default_prompt ? " (the default)" : ""));
  }
  section.add("prompts", Json{{"texts", files.prompts}, {"default", files.default_prompt}},
              joined_names(prompts));
}

// "256, sentence_bert_config.json says so": the limit, and which of several limits it is.
std::string token_limit(const TextModel& model) {
  const std::int64_t limit = model.max_tokens();
  std::string who = "the model has no more positions";
  if (model.files().max_tokens == limit) {
    who = model.files().max_tokens_file + " says so";
  } else if (model.tokenizer().max_length() == limit &&
             limit < model.transformer().description().max_tokens()) {
    who = "the truncation of " + model.files().tokenizer.filename().string();
  }
  return std::to_string(limit) + ", " + who;
}

// Every file that was read, as it is called inside the model's folder; a GGUF file is all of them.
std::vector<std::string> files_of(const ModelFiles& files) {
  std::vector<std::string> names;
  for (const ModelFile* const file :
       {&files.config, &files.weights, &files.tokenizer, &files.tokenizer_config, &files.generation_config,
        &files.chat_template}) {
    if (file->empty()) continue;
    const std::string name = file->path().lexically_relative(files.root).string();
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  names.insert(names.end(), files.module_files.begin(), files.module_files.end());
  return names;
}

}  // namespace

Section model_section(const TextModel& model, bool& finite) {
  const ModelFiles& files = model.files();
  Section section{"model", "The model " + files.name};
  section.add("name", files.name, "");
  add_shape(section, model.transformer().description());
  add_weights(section, Checkpoint::open(files.weights));
  finite = add_bad_tensors(section, files);
  const Tokenizer& tokenizer = model.tokenizer();
  section.add("tokenizer",
              Json{{"algorithm", tokenizer.algorithm()},
                   {"tokens", tokenizer.vocabulary_size()},
                   {"special_tokens", tokenizer.special_count()},
                   {"lower_case_first", files.lower_case}},
              std::string(tokenizer.algorithm()) + ", " + std::to_string(tokenizer.vocabulary_size()) +
                  " tokens, " + std::to_string(tokenizer.special_count()) + " added to every text" +
                  (files.lower_case ? ", text to lower case first" : ""));
  section.add("max_tokens", Json{{"count", model.max_tokens()}, {"why", token_limit(model)}},
              token_limit(model));
  add_use(section, model);
  section.add("folder", std::filesystem::absolute(files.folder).string());
  const std::vector<std::string> names = files_of(files);
  section.add("files", names, joined_names(names));
  return section;
}

}  // namespace attend::doctor
