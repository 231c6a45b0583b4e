#include "doctor/causes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "doctor/passes.h"
#include "doctor/preparations.h"
#include "doctor/row_order.h"
#include "draw/number.h"

namespace attend::doctor {
namespace {

constexpr std::int64_t kMostTexts = 64;      // per trial
constexpr std::int64_t kMostPairTexts = 12;  // when two causes are tried together
constexpr double kReducedPrecision = 3e-2;   // how far a model that computes in bf16 is off
constexpr std::array kPoolings = {Pooling::cls,           Pooling::max,
                                  Pooling::mean,          Pooling::mean_sqrt_length,
                                  Pooling::weighted_mean, Pooling::last_token};

// The texts that agree least, and as many others spread evenly: a cause must explain both.
std::vector<std::int64_t> chosen_texts(const Agreement& agreement, std::int64_t most) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(agreement.texts));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
  if (agreement.texts <= most) return all;
  std::vector<std::int64_t> chosen = all;
  std::stable_sort(chosen.begin(), chosen.end(), [&](std::int64_t a, std::int64_t b) {
    return agreement.cosines[static_cast<std::size_t>(a)] < agreement.cosines[static_cast<std::size_t>(b)];
  });
  chosen.resize(static_cast<std::size_t>(most / 2));
  for (std::int64_t i = 0; i < most - most / 2; ++i)
    chosen.push_back(i * agreement.texts / (most - most / 2));
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

Tensor rows_of(ConstTensorView matrix, const std::vector<std::int64_t>& rows) {
  Tensor result(matrix.dtype(), {static_cast<std::int64_t>(rows.size()), matrix.size(1)});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    copy(matrix.slice(0, rows[i], rows[i] + 1), result.view().slice(0, at, at + 1));
  }
  return result;
}

class Trials {
 public:
  Trials(const TextModel& model, std::span<const std::string> texts, ConstTensorView reference,
         const std::vector<std::int64_t>& chosen)
      : model_(model), chosen_(chosen), reference_(rows_of(reference, chosen)) {
    for (const std::int64_t i : chosen) texts_.push_back(texts[static_cast<std::size_t>(i)]);
    usual_tokens_ = encode(model, texts_, usual_preparation(model));
  }

  // `theirs`: the reference's tokens, where they are known and differ from ours.
  void run(std::vector<Trial>& trials, const TokenBatch* theirs) const {
    const bool normal = model_.files().normalize;
    add(trials, "normalisation", normal ? "off" : "on",
        normal ? "the reference is not normalised" : "the reference is normalised",
        model_.embed(usual_tokens_, {.normalize = !normal}));
    const std::vector<Pooling> usual = usual_pooling();
    const std::vector<Tensor> pooled = embed_each_pooling(model_, usual_tokens_, kPoolings, normal);
    for (std::size_t i = 0; i < kPoolings.size() && usual.size() == 1; ++i) {
      const std::string name(name_of(kPoolings[i]));
      if (kPoolings[i] != usual.front())
        add(trials, "pooling", name, "the reference was pooled with " + name, pooled[i]);
    }
    if (theirs != nullptr) {
      add(trials, "tokenization", "the reference's ids", "only its tokens differ",
          model_.embed(encodings_of(*theirs)));
    }
    for (const Preparation& preparation : other_preparations(model_)) {
      const std::vector<Encoding> tokens = encode(model_, texts_, preparation);
      if (!differ(tokens)) {
        trials.push_back(
            {preparation.cause, preparation.setting, preparation.meaning, std::nullopt, "same tokens"});
        continue;
      }
      add(trials, preparation.cause, preparation.setting, preparation.meaning, model_.embed(tokens));
    }
    const std::vector<Tensor> layers = embed_each_layer(model_, usual_tokens_);
    for (std::size_t layer = 0; layer + 1 < layers.size(); ++layer) {
      const std::string number = std::to_string(layer);
      add(trials, "layer", layer == 0 ? "0, the embeddings" : number, "the reference is of layer " + number,
          layers[layer]);
    }
  }

  void run_types(std::vector<Trial>& trials, ConstTensorView whole_reference) const {
    const Tensor ours = model_.embed(usual_tokens_);
    const std::optional<DType> stored = narrow_type_of(whole_reference);
    for (const DType dtype : {DType::f16, DType::bf16}) {
      const std::string name(attend::name_of(dtype));
      const Tensor rounded = copy_of(copy_of(ours, dtype), DType::f64);
      Trial trial{"dtype", name, "the reference was stored or computed in " + name,
                  compare(rounded, reference_), ""};
      trial.explains = stored == dtype && trial.agreement->distance <= kReducedPrecision;
      if (!trial.explains) trial.why_not = "the reference holds numbers that are not exact in " + name;
      trials.push_back(std::move(trial));
    }
  }

  // Two causes at once: another pooling, another preparation or layer, other lengths. The first combination
  // that agrees.
  std::string two_causes() const {
    if (usual_pooling().size() > 1) return "";
    struct Way {
      std::string meaning;
      std::vector<Encoding> tokens;
      std::optional<std::int64_t> layer;
    };
    std::vector<Way> ways{{"", usual_tokens_, {}}};
    for (const Preparation& preparation : other_preparations(model_)) {
      std::vector<Encoding> tokens = encode(model_, texts_, preparation);
      if (differ(tokens)) ways.push_back({preparation.meaning, std::move(tokens), {}});
    }
    for (std::int64_t layer = 0; layer < model_.transformer().description().layer_count(); ++layer)
      ways.push_back({"the reference is of layer " + std::to_string(layer), usual_tokens_, layer});
    for (const Way& way : ways) {
      std::vector<Tensor> pooled = embed_each_pooling(model_, way.tokens, kPoolings, false, way.layer);
      for (std::size_t p = 0; p < kPoolings.size(); ++p) {
        Tensor& vectors = pooled[p];
        for (const bool normal : {false, true}) {
          if (normal) normalize_rows(vectors, vectors);
          if (!compare(vectors, reference_).agrees()) continue;
          std::vector<std::string> parts;
          if (kPoolings[p] != usual_pooling().front())
            parts.push_back(joined("the reference was pooled with ", name_of(kPoolings[p])));
          if (!way.meaning.empty()) parts.push_back(way.meaning);
          if (normal != model_.files().normalize)
            parts.emplace_back(normal ? "the reference is normalised" : "the reference is not normalised");
          std::string text;
          for (const std::string& part : parts) text.append(text.empty() ? "" : ", and ").append(part);
          return text;
        }
      }
    }
    return "";
  }

 private:
  std::vector<Pooling> usual_pooling() const {
    return model_.files().pooling.empty() ? std::vector{Pooling::mean} : model_.files().pooling;
  }

  bool differ(const std::vector<Encoding>& tokens) const {
    return !std::ranges::equal(tokens, usual_tokens_, {}, &Encoding::ids, &Encoding::ids);
  }

  void add(std::vector<Trial>& trials, std::string cause, std::string setting, std::string meaning,
           const Tensor& vectors) const {
    Trial trial{std::move(cause), std::move(setting), std::move(meaning), compare(vectors, reference_), ""};
    trial.explains = trial.agreement->agrees();
    trials.push_back(std::move(trial));
  }

  // The rows of the chosen texts.
  std::vector<Encoding> encodings_of(const TokenBatch& batch) const {
    std::vector<Encoding> encodings;
    for (const std::int64_t text : chosen_) {
      const auto begin = batch.ids.begin() + batch.ends[static_cast<std::size_t>(text)];
      const auto end = batch.ids.begin() + batch.ends[static_cast<std::size_t>(text) + 1];
      Encoding& encoding = encodings.emplace_back();
      encoding.ids.assign(begin, end);
      encoding.type_ids.assign(encoding.ids.size(), 0);
    }
    return encodings;
  }

  const TextModel& model_;
  std::vector<std::int64_t> chosen_;
  Tensor reference_;
  std::vector<std::string> texts_;
  std::vector<Encoding> usual_tokens_;
};

const Trial* best(const std::vector<Trial>& trials, auto&& suits, auto&& measure) {
  const Trial* found = nullptr;
  for (const Trial& trial : trials) {
    if (!trial.agreement || !suits(trial)) continue;
    if (found == nullptr || measure(*trial.agreement) < measure(*found->agreement)) found = &trial;
  }
  return found;
}

std::string conclude(const std::vector<Trial>& trials, const Agreement& baseline, std::int64_t texts,
                     const auto& two_causes) {
  const auto distance = [](const Agreement& agreement) { return agreement.distance; };
  const auto direction = [](const Agreement& agreement) { return agreement.direction; };
  if (const Trial* const trial = best(
          trials, [](const Trial& t) { return t.explains; }, distance)) {
    std::string others;
    for (const Trial& other : trials) {
      if (&other != trial && other.explains && other.cause == trial->cause &&
          other.agreement->distance < kF16Noise)
        others.append(others.empty() ? " (" : ", ").append(other.setting);
    }
    return joined("With ", trial->cause, " ", trial->setting, others.empty() ? "" : others + " as well)",
                  texts == 1 ? ", the text agrees: " : joined(", all ", texts, " texts agree: "),
                  trial->meaning, ".");
  }
  if (const std::string meaning = two_causes(); !meaning.empty())
    return joined("Two causes together explain it: ", meaning, " (tried on up to ", kMostPairTexts,
                  " texts; all agree).");
  if (baseline.same_direction())
    return "All directions agree but the lengths do not: the reference is scaled by something other than a "
           "normalisation.";
  std::string text = "None of the usual causes explains it.";
  // Rounding does not bring a vector closer, and among many rows one is always close.
  const auto telling = [](const Trial& t) { return t.cause != "order" && t.cause != "dtype"; };
  if (const Trial* const trial = best(trials, telling, direction);
      trial != nullptr && trial->agreement->direction < 0.9 * baseline.direction) {
    text += joined(" The nearest is ", trial->cause, " ", trial->setting, ", with a worst cosine of ",
                   draw::format_short(trial->agreement->worst_cosine, 6), ".");
  }
  return text +
         " A reference with ids and hidden states shows the first layer and token that differ "
         "(docs/doctor.md).";
}

}  // namespace

Diagnosis diagnose(const TextModel& model, std::span<const std::string> texts, ConstTensorView ours,
                   ConstTensorView reference, const TokenBatch* theirs) {
  const Agreement baseline = compare(ours, reference);
  const std::vector<std::int64_t> chosen = chosen_texts(baseline, kMostTexts);
  Diagnosis diagnosis{.trials = {}, .conclusion = "", .texts = static_cast<std::int64_t>(chosen.size())};
  diagnosis.trials.push_back(try_row_order(ours, reference));
  const Trials trials(model, texts, reference, chosen);
  trials.run(diagnosis.trials, theirs);
  trials.run_types(diagnosis.trials, reference);
  diagnosis.conclusion = conclude(diagnosis.trials, baseline, diagnosis.texts, [&] {
    return Trials(model, texts, reference, chosen_texts(baseline, kMostPairTexts)).two_causes();
  });
  return diagnosis;
}

}  // namespace attend::doctor
