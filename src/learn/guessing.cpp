// What most tasks learn: to guess tokens.
#include <algorithm>

#include "base/error.h"
#include "base/random.h"
#include "learn/model_folder.h"
#include "learn/task.h"

namespace attend::learn {

// Where a step has several batches, each is drawn twice, the first time to count its targets; so a step takes
// the memory of one batch.
Learned Task::learn(train::Model& model, const StepBatches& step) const {
  std::int64_t targets = 0;
  Learned learned;
  train::Batch last;
  for (std::int64_t i = 0; i < step.count; ++i) {
    last = batch(step.first + static_cast<std::uint64_t>(i));
    targets += std::count_if(last.targets.begin(), last.targets.end(),
                             [](std::int32_t target) { return target != kNoTarget; });
    learned.tokens += static_cast<std::int64_t>(last.tokens.ids.size() + last.source.ids.size());
  }
  for (std::int64_t i = 0; i < step.count; ++i) {
    const std::uint64_t number = step.first + static_cast<std::uint64_t>(i);
    if (step.count > 1) last = batch(number);
    const std::uint64_t seed = random_bits(step.dropout_seed, number);
    learned.loss += model.learn(last, 1 / static_cast<double>(targets), seed).loss;
  }
  learned.loss /= static_cast<double>(targets);
  return learned;
}

Measured Task::measure(train::Model& model) const {
  CrossEntropy total;
  for (const train::Batch& batch : validation()) {
    const CrossEntropy part = model.evaluate(batch);
    total.loss += part.loss;
    total.counted += part.counted;
    total.right += part.right;
  }
  const auto count = static_cast<double>(std::max<std::int64_t>(1, total.counted));
  return {.loss = total.loss / count, .accuracy = static_cast<double>(total.right) / count};
}

ModelDescription Task::description(const Config& config) const {
  ModelDescription description = model::describe(config.model);
  description.start_token = start();
  return description;
}

void Task::save(const std::filesystem::path& folder, train::Model& model) const {
  save_model_folder(folder, model, tokenizer_json());
  // Else a model that answers in a word or a line would go on writing.
  if (const auto length = answer_length())
    write_file(folder / kGenerationFile, joined("{\n  \"max_new_tokens\": ", *length, "\n}\n"));
}

std::vector<std::filesystem::path> Task::files() const {
  std::vector<std::filesystem::path> files = {kConfigFile, kTokenizerFile, kWeightsFile};
  if (answer_length()) files.emplace_back(kGenerationFile);
  return files;
}

Encoding Task::encode(const std::string& text, const Tokenizer& tokenizer) const {
  return tokenizer.encode(text, {.add_special_tokens = false, .truncate = false});
}

}  // namespace attend::learn
