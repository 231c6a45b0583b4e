// Compares a reference's ids and hidden states with our own: where do they first differ?
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
  std::optional<std::int32_t> ours{}, theirs{};  // empty: that text has fewer tokens
  std::string meaning{};  // such as "the reference lower-cased its texts", if a usual cause explains all ids
};

// The first token that differs; empty if all ids are equal.
std::optional<TokenDifference> compare_ids(const TextModel& model, std::span<const std::string> texts,
                                           const TokenBatch& reference);

struct LayerAgreement {
  std::int64_t layer = 0;
  double max_abs_error = 0;
  double distance = 0;  // the largest over all tokens, relative to the length of the reference's vector
};

struct HiddenDifference {
  std::int64_t layer = 0, text = 0, token = 0;  // the first token of the first layer that differs
  std::string token_text{};
  std::int64_t element = 0;  // the element of its vector that differs most
  double ours = 0, theirs = 0;
};

struct HiddenAgreement {
  std::vector<LayerAgreement> layers{};
  std::optional<HiddenDifference> first{};
  double distance() const;
};

// Computed for the reference's own ids, so that a difference in tokens does not hide one in layers.
HiddenAgreement compare_hidden(const TextModel& model, const Reference& reference);

}  // namespace attend::doctor
