// Texts that several processes read together, one after another: process 0 reads and writes, and tells the
// others what to read with it.
#pragma once

#include <attend/spread_text.h>

#include <span>

namespace attend::embed {

// For process 0. embed() is what Job::embed asks for; finish() lets the others go.
class SpreadTexts {
 public:
  SpreadTexts(Processes& processes, SpreadWay way, const TextModel& model)
      : processes_(processes), way_(way), model_(model) {}
  Tensor embed(std::span<const Encoding> texts, const EmbedOptions& options);
  void finish();

 private:
  Processes& processes_;
  SpreadWay way_;
  const TextModel& model_;
};

// For the others: returns when process 0 has finished.
void read_along(Processes& processes, SpreadWay way, const TextModel& model, const EmbedOptions& options);

}  // namespace attend::embed
