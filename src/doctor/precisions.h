// How far a model in each precision is from the same model in f32, on texts.
#pragma once

#include <attend/precision.h>
#include <attend/text_model.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/agreement.h"

namespace attend::doctor {

// Texts in several languages, and a piece of a program.
std::span<const std::string_view> precision_texts() noexcept;

// What a model that writes expected at each place of the texts but the last of each.
struct Guesses {
  std::vector<double> log_probabilities{};  // of the token that follows in the text
  std::vector<std::int32_t> first{};        // the most probable token
};

struct GuessAgreement {
  std::int64_t places = 0;
  double mean = 0, largest = 0;  // how far the log-probability of the next token is from the reference's
  double shift = 0;       // the mean of that with its sign: below 0, ours finds the texts less probable
  double same_first = 1;  // the share of places where the most probable token is the same
};

// Of the same places. A number that is not finite is infinitely far away.
GuessAgreement compare(const Guesses& ours, const Guesses& reference);

struct PrecisionError {
  Precision precision = Precision::f32;
  std::string isa{};                   // the instruction set that it ran on
  std::string why_not{};               // why this build or this machine cannot; then there is nothing else
  std::optional<Agreement> vectors{};  // of a model that makes one vector of a text
  std::optional<GuessAgreement> guesses{};  // of a model that writes
};

struct PrecisionErrors {
  std::int64_t texts = 0, tokens = 0;
  std::vector<PrecisionError> errors{};  // of every precision but f32
};

// `exact` computes in f32. The model is loaded again for each other precision.
PrecisionErrors measure_precisions(const TextModel& exact);

}  // namespace attend::doctor
