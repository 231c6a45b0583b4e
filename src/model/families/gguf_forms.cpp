// The list of architectures that GGUF files name.
#include <array>
#include <string>

#include "base/error.h"
#include "io/fail.h"
#include "model/families/gguf_form.h"
#include "model/families/gguf_keys.h"

namespace attend::model {
namespace {

constexpr std::array<const GgufForm*, 9> kGgufForms = {
    &kGgufLlama, &kGgufQwen2, &kGgufQwen3, &kGgufGemma2,    &kGgufGemma3,
    &kGgufPhi3,  &kGgufGpt2,  &kGgufBert,  &kGgufNomicBert,
};

const GgufForm& form_of_file(const Gguf& file) {
  const std::string_view architecture = file.string("general.architecture");
  std::string known;
  for (const GgufForm* const form : kGgufForms) {
    if (form->architecture == architecture) return *form;
    known.append(known.empty() ? "" : ", ").append(form->architecture);
  }
  io::fail(file.file(), "general.architecture", io::quoted(architecture),
           " is not an architecture that attend supports: ", known);
}

std::optional<std::int32_t> token_under(const Gguf& file, std::string_view key, std::int64_t vocabulary) {
  if (!file.contains(key)) return std::nullopt;
  return static_cast<std::int32_t>(file.integer(key, 0, vocabulary - 1));
}

}  // namespace

std::span<const GgufForm* const> gguf_forms() { return kGgufForms; }

ModelDescription describe_gguf(const Gguf& file) {
  const GgufForm& form = form_of_file(file);
  ModelDescription description = form.describe(GgufKeys(file));
  description.family = form.family;
  description.model_type = form.architecture;
  description.pad_token = token_under(file, "tokenizer.ggml.padding_token_id", description.vocabulary_size);
  for (const char* const key : {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id"}) {
    if (const auto id = token_under(file, key, description.vocabulary_size))
      description.end_tokens.push_back(*id);
  }
  try {
    check(description);
  } catch (const std::invalid_argument& error) {
    io::fail(file.file(), "", plain_sentence(error));
  }
  file.require_intact();
  return description;
}

bool has_gguf_names(const TensorSource& tensors) { return tensors.contains("token_embd.weight"); }

TensorNames gguf_names(const ModelDescription& description, const TensorSource& tensors) {
  for (const GgufForm* const form : kGgufForms) {
    if (form->family == description.family) return form->names(description, tensors);
  }
  refuse("model", "GGUF files hold no models of the family \"", description.family, '"');
}

}  // namespace attend::model
