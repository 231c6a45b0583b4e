// A reference's ids and hidden states beside our own: where the two part.
#pragma once

#include <attend/text_model.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "doctor/agreement.h"
#include "doctor/reference.h"

namespace attend::doctor {

struct TokenDifference {
  std::int64_t text = 0, token = 0;
  std::optional<std::int32_t> ours{}, theirs{};  // none: that text has fewer tokens
  std::string meaning{};  // "the reference lower-cased its texts", where a usual cause gives all of their ids
};

// The first token that differs; none where all ids are equal.
std::optional<TokenDifference> compare_ids(const TextModel& model, std::span<const std::string> texts,
                                           const TokenBatch& reference);

struct LayerAgreement {
  std::int64_t layer = 0;
  double max_abs_error = 0;
  double distance = 0;  // the largest of any token, as a share of the length of the reference's vector
};

struct HiddenDifference {
  std::int64_t layer = 0, text = 0, token = 0;  // the first token of the first layer that differs
  std::string token_text{};
  std::int64_t element = 0;  // of its vector, where the two are furthest apart
  double ours = 0, theirs = 0;
};

struct HiddenAgreement {
  std::vector<LayerAgreement> layers{};
  std::optional<HiddenDifference> first{};
  double distance() const;
};

// For the reference's own ids, so that a difference in tokens does not hide one in layers.
HiddenAgreement compare_hidden(const TextModel& model, const Reference& reference);

}  // namespace attend::doctor
