#include <attend/text_model.h>

#include <attend/checkpoint.h>
#include <attend/file_error.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"
#include "model/dense.h"
#include "model/source_target.h"
#include "model/text_batches.h"

namespace attend {

// Read on first use: a model whose checkpoint lacks its tensors can still make vectors.
struct KeptSequenceHead {
  std::once_flag once;
  std::optional<SequenceHead> head;
};

struct TextModel::Parts {
  ModelFiles files;
  Checkpoint checkpoint;
  Tokenizer tokenizer;
  Transformer transformer;
  std::vector<model::DenseLayer> dense;
  std::int64_t max_tokens;
  std::shared_ptr<KeptSequenceHead> sequence_head = std::make_shared<KeptSequenceHead>();
};

namespace {

constexpr const char* kTextModelOperation = "embed";

std::vector<Pooling> pooling_of(const ModelFiles& files, const EmbedOptions& options) {
  if (!options.pooling.empty()) return options.pooling;
  return files.pooling.empty() ? std::vector{Pooling::mean} : files.pooling;
}

}  // namespace

TextModel TextModel::load(std::string_view name_or_folder, const ModelOptions& options) {
  const ModelFiles files = find_model(name_or_folder);
  ModelDescription description = read_model_description(files.config);
  if (description.sequence_head && !files.activation.empty())
    description.sequence_head->activation = files.activation;
  const Checkpoint checkpoint = Checkpoint::open(files.weights);
  Tokenizer tokenizer = Tokenizer::load(files);
  std::int64_t max_tokens = description.max_tokens();
  if (files.max_tokens) max_tokens = std::min(max_tokens, *files.max_tokens);
  // A sentence model's own limit overrides its tokenizer file's, which is often meant for another use.
  if (!files.max_tokens && tokenizer.max_length()) max_tokens = std::min(max_tokens, *tokenizer.max_length());
  if (max_tokens < tokenizer.special_count()) {
    throw FileError(files.folder.string(), "max_seq_length",
                    joined("a text may have ", max_tokens, " tokens, but ", tokenizer.special_count(),
                           " special ones are added to every text"));
  }
  if (!files.default_prompt.empty() && !files.pooling_includes_prompt) {
    throw FileError(files.folder.string(), "include_prompt",
                    "false is not supported when there is a default prompt");
  }
  std::vector<model::DenseLayer> dense;
  for (const DenseModule& module : files.dense) dense.emplace_back(module);
  Transformer transformer(description, tensors_of(checkpoint), options);
  checkpoint.require_intact();
  return TextModel(std::make_shared<const Parts>(
      Parts{files, checkpoint, std::move(tokenizer), std::move(transformer), std::move(dense), max_tokens}));
}

namespace {

// `parts` is a TextModel::Parts, whose name is private.
EncodeOptions options_of(const auto& parts, std::optional<std::int64_t> max_tokens) {
  return {.max_length = std::min(max_tokens.value_or(parts.max_tokens),
                                 std::max(parts.max_tokens, parts.transformer.description().max_tokens())),
          .lower_case = parts.files.lower_case};
}

}  // namespace

namespace {

// Keeps at most this many tokens of the source, and of the target.
void cut_parts(Encoding& tokens, std::int64_t most) {
  std::array<std::int64_t, 2> counts{};
  std::size_t kept = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (++counts[tokens.type_ids[i] == 0 ? 0 : 1] > most) continue;
    tokens.ids[kept] = tokens.ids[i];
    tokens.type_ids[kept] = tokens.type_ids[i];
    tokens.offsets[kept] = tokens.offsets[i];
    tokens.words[kept] = tokens.words[i];
    tokens.special[kept++] = tokens.special[i];
  }
  tokens.dropped += static_cast<std::int64_t>(tokens.size() - kept);
  tokens.ids.resize(kept);
  tokens.type_ids.resize(kept);
  tokens.offsets.resize(kept);
  tokens.words.resize(kept);
  tokens.special.resize(kept);
}

}  // namespace

const ModelFiles& TextModel::files() const noexcept { return parts_->files; }
const Tokenizer& TextModel::tokenizer() const noexcept { return parts_->tokenizer; }
const Transformer& TextModel::transformer() const noexcept { return parts_->transformer; }
std::int64_t TextModel::max_tokens() const noexcept { return parts_->max_tokens; }
std::int64_t TextModel::most_tokens() const noexcept {
  return std::max(parts_->max_tokens, parts_->transformer.description().max_tokens());
}

std::optional<TokenHead> TextModel::token_head() const {
  return TokenHead::find(parts_->transformer.description(), tensors_of(parts_->checkpoint),
                         {.precision = parts_->transformer.precision()});
}

std::optional<SequenceHead> TextModel::sequence_head() const {
  KeptSequenceHead& kept = *parts_->sequence_head;
  std::call_once(kept.once, [&] {
    kept.head = SequenceHead::find(parts_->transformer.description(), tensors_of(parts_->checkpoint));
    require_intact();
  });
  return kept.head;
}

void TextModel::require_intact() const { parts_->checkpoint.require_intact(); }

std::int64_t TextModel::embedding_size(const EmbedOptions& options) const {
  if (!parts_->dense.empty()) return parts_->dense.back().outputs();
  return parts_->transformer.description().hidden_size *
         static_cast<std::int64_t>(pooling_of(parts_->files, options).size());
}

Encoding TextModel::encode(std::string_view text, std::optional<std::int64_t> max_tokens) const {
  return parts_->tokenizer.encode(text, options_of(*parts_, max_tokens));
}

Encoding TextModel::encode(std::string_view first, std::string_view second,
                           std::optional<std::int64_t> max_tokens) const {
  EncodeOptions options = options_of(*parts_, max_tokens);
  const ModelDescription& description = parts_->transformer.description();
  if (!description.has_source()) return parts_->tokenizer.encode(first, second, options);
  // Source and target each have their own positions.
  const std::int64_t most = *options.max_length;
  Encoding tokens = model::encode_source_and_target(parts_->tokenizer, first, second,
                                                    description.start_token.value_or(0), options);
  cut_parts(tokens, most);
  return tokens;
}

std::string TextModel::prompt_of(const EmbedOptions& options) const {
  if (options.prompt) return *options.prompt;
  const std::string& name = parts_->files.default_prompt;
  return name.empty() ? std::string() : parts_->files.prompts.at(name);
}

Tensor TextModel::embed(std::span<const std::string_view> texts, const EmbedOptions& options) const {
  const std::string prompt = prompt_of(options);
  std::vector<Encoding> encodings;
  encodings.reserve(texts.size());
  std::string whole;
  for (const std::string_view text : texts) {
    interruption_point();
    encodings.push_back(encode(prompt.empty() ? text : std::string_view(whole.assign(prompt).append(text)),
                               options.max_tokens));
  }
  return embed(encodings, options);
}

Tensor TextModel::embed(std::span<const Encoding> texts, const EmbedOptions& options) const {
  const Transformer& transformer = parts_->transformer;
  const std::int64_t e = transformer.description().hidden_size,
                     layers = transformer.description().layer_count();
  const std::int64_t layer = options.layer.value_or(layers);
  if (layer < 0 || layer > layers)
    refuse(kTextModelOperation, "layer is ", layer, ", expected 0 to ", layers);
  const std::vector<Pooling> poolings = pooling_of(parts_->files, options);

  Tensor pooled(DType::f32,
                {static_cast<std::int64_t>(texts.size()), e * static_cast<std::int64_t>(poolings.size())});
  model::for_each_batch(kTextModelOperation, transformer.description(), texts, options.batch_tokens,
                        [&](const TokenBatch& batch, std::int64_t first) {
                          pool(transformer.forward(batch, {}, layer), batch.ends, poolings,
                               pooled.view().slice(0, first, first + batch.texts()));
                        });
  return finished(std::move(pooled), options);
}

Tensor TextModel::vector_of(ConstTensorView hidden, const EmbedOptions& options) const {
  const std::vector<Pooling> poolings = pooling_of(parts_->files, options);
  Tensor pooled(DType::f32, {1, hidden.size(1) * static_cast<std::int64_t>(poolings.size())});
  const std::int64_t ends[] = {0, hidden.size(0)};
  pool(hidden, ends, poolings, pooled);
  return finished(std::move(pooled), options);
}

Tensor TextModel::finished(Tensor pooled, const EmbedOptions& options) const {
  require_intact();
  for (const model::DenseLayer& dense : parts_->dense) pooled = dense.apply(pooled);
  if (options.normalize.value_or(parts_->files.normalize)) normalize_rows(pooled, pooled);
  return pooled;
}

}  // namespace attend
