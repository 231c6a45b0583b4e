// Why vectors differ from a reference: tries the usual causes by computing what each would give.
#pragma once

#include <attend/text_model.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "doctor/agreement.h"

namespace attend::doctor {

struct Trial {
  std::string cause, setting;          // "pooling", "cls"
  std::string meaning;                 // "the reference was pooled with cls"
  std::optional<Agreement> agreement;  // empty: it was not computed
  std::string why_not;                 // in that case
  bool explains = false;
};

struct Diagnosis {
  std::vector<Trial> trials;
  std::string conclusion;  // a sentence or two
  std::int64_t texts = 0;  // how many were tried: a sample if there are many
};

// reference (texts, E), f64; ours: the model's own vectors for these texts; theirs: the reference's tokens,
// where they are known and differ from ours.
Diagnosis diagnose(const TextModel& model, std::span<const std::string> texts, ConstTensorView ours,
                   ConstTensorView reference, const TokenBatch* theirs = nullptr);

}  // namespace attend::doctor
