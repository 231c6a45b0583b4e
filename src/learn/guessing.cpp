// What most tasks learn: to guess tokens.
#include <algorithm>

#include "base/random.h"
#include "learn/model_folder.h"
#include "learn/task.h"

namespace attend::learn {

Learned Task::learn(train::Model& model, const StepBatches& step) const {
  std::vector<train::Batch> batches;
  std::int64_t targets = 0;
  Learned learned;
  for (std::int64_t i = 0; i < step.count; ++i) {
    batches.push_back(batch(step.first + static_cast<std::uint64_t>(i)));
    const train::Batch& last = batches.back();
    targets += std::count_if(last.targets.begin(), last.targets.end(),
                             [](std::int32_t target) { return target != kNoTarget; });
    learned.tokens += static_cast<std::int64_t>(last.tokens.ids.size() + last.source.ids.size());
  }
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const std::uint64_t seed = random_bits(step.dropout_seed, step.first + i);
    learned.loss += model.learn(batches[i], 1 / static_cast<double>(targets), seed).loss;
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

void Task::save(const std::filesystem::path& folder, train::Model& model) const {
  save_model_folder(folder, model, tokenizer_json(), start());
}

Encoding Task::encode(const std::string& text, const Tokenizer& tokenizer) const {
  return tokenizer.encode(text, {.add_special_tokens = false, .truncate = false});
}

}  // namespace attend::learn
