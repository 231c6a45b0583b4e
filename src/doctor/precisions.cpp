#include "doctor/precisions.h"

#include <attend/isa.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "base/error.h"

namespace attend::doctor {
namespace {

constexpr std::array<std::string_view, 14> kTexts = {
    "The bridge was closed for repairs, so the bus took the long way around the harbour and we arrived "
    "twenty minutes "
    "late.",
    "Our return policy: unused items can be sent back within 30 days. The buyer pays for postage unless the "
    "article was "
    "damaged on arrival.",
    "Heat flows from the warmer body to the colder one until both have the same temperature; no work is "
    "needed for that.",
    "She tuned the old piano by ear, one string after another, while the rain drummed on the roof of the "
    "workshop.",
    "Is it safe to mix these two cleaning products? No. Together they give off chlorine, which is poisonous "
    "even in "
    "small amounts.",
    "Der Zug nach Leipzig fährt heute von Gleis 7 ab; wer noch keine Karte hat, kann sie beim Schaffner "
    "kaufen.",
    "Le boulanger du village ouvre à six heures, mais les croissants sont souvent déjà vendus avant huit "
    "heures.",
    "El río creció durante la noche y por la mañana el camino que lleva a la escuela estaba cubierto de "
    "barro.",
    "Весной птицы возвращаются с юга, и в старом саду за рекой снова слышно пение по утрам.",
    "图书馆星期一不开门，所以我们决定去河边散步，顺便看看新修的桥。",
    "駅前の小さな食堂では、毎朝近くの港から届いた魚を焼いて出している。",
    "أغلق البائع دكانه قبل الغروب ثم مشى مع ابنه إلى البيت عبر السوق القديم.",
    "for (int i = 0; i < count; ++i) {\n  if (values[i] > largest) largest = values[i];\n}\nreturn largest;",
    "ok"};

Tensor vectors_of(const TextModel& model) { return model.embed(kTexts); }

// The logarithm of the share of one token: logit - log(sum of exponentials).
double log_probability(const float* logits, std::int64_t size, std::int32_t token) {
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  for (std::int64_t i = 0; i < size; ++i) largest = std::max(largest, static_cast<double>(logits[i]));
  for (std::int64_t i = 0; i < size; ++i) sum += std::exp(static_cast<double>(logits[i]) - largest);
  return static_cast<double>(logits[token]) - largest - std::log(sum);
}

// Text by text: the logits of all places at once would be hundreds of megabytes.
Guesses guesses_of(const TextModel& model, const TokenHead& head) {
  Guesses result;
  for (const std::string_view text : kTexts) {
    const Encoding tokens = model.encode(text);
    const auto places = static_cast<std::int64_t>(tokens.ids.size()) - 1;
    if (places < 1) continue;
    TokenBatch batch;
    batch.add(tokens.ids, tokens.type_ids);
    const Tensor hidden = model.transformer().forward(batch);
    const Tensor logits = head.next_logits(hidden.view().slice(0, 0, places));
    const std::int64_t size = logits.size(1);
    for (std::int64_t place = 0; place < places; ++place) {
      const float* const row = logits.values<float>().data() + place * size;
      const std::int32_t next = tokens.ids[static_cast<std::size_t>(place) + 1];
      result.log_probabilities.push_back(log_probability(row, size, next));
      result.first.push_back(static_cast<std::int32_t>(std::max_element(row, row + size) - row));
    }
  }
  model.require_intact();
  return result;
}

// What the other precisions are compared with.
struct Exact {
  std::optional<Tensor> vectors{};
  std::optional<Guesses> guesses{};
};

Exact outcome_of(const TextModel& model) {
  if (model.transformer().description().is_causal()) {
    if (const std::optional<TokenHead> head = model.token_head())
      return {.guesses = guesses_of(model, head->for_writing())};
  }
  return {.vectors = vectors_of(model)};
}

}  // namespace

std::span<const std::string_view> precision_texts() noexcept { return kTexts; }

GuessAgreement compare(const Guesses& ours, const Guesses& reference) {
  GuessAgreement result{.places = static_cast<std::int64_t>(reference.first.size())};
  if (result.places == 0) return result;
  std::int64_t same = 0;
  double sum = 0, shift = 0;
  for (std::size_t i = 0; i < reference.first.size(); ++i) {
    const double apart = ours.log_probabilities[i] - reference.log_probabilities[i];
    const double size = std::isfinite(apart) ? std::abs(apart) : std::numeric_limits<double>::infinity();
    sum += size;
    shift += apart;
    result.largest = std::max(result.largest, size);
    same += ours.first[i] == reference.first[i] ? 1 : 0;
  }
  const auto count = static_cast<double>(result.places);
  result.mean = sum / count;
  result.shift = shift / count;
  result.same_first = static_cast<double>(same) / count;
  return result;
}

PrecisionErrors measure_precisions(const TextModel& exact) {
  PrecisionErrors result{.texts = static_cast<std::int64_t>(kTexts.size())};
  for (const std::string_view text : kTexts)
    result.tokens += static_cast<std::int64_t>(exact.encode(text).ids.size());
  const Exact reference = outcome_of(exact);
  for (const Precision precision : {Precision::bf16, Precision::int8}) {
    PrecisionError error{.precision = precision, .isa = isa(precision)};
    try {
      const TextModel model = TextModel::load(exact.files().root.string(), {.precision = precision});
      const Exact found = outcome_of(model);
      if (reference.guesses) error.guesses = compare(*found.guesses, *reference.guesses);
      if (reference.vectors) error.vectors = compare(*found.vectors, *reference.vectors);
    } catch (const std::invalid_argument& why) {  // a format that this build does not have
      error.why_not = plain_sentence(why);
    }
    result.errors.push_back(std::move(error));
  }
  return result;
}

}  // namespace attend::doctor
