// Parts of one pass put into another, one at a time.
#include <attend/lens_next.h>

#include <algorithm>
#include <array>
#include <deque>

#include "base/error.h"
#include "lens/output_layer.h"

namespace attend {
namespace {

std::int32_t answer_to(const Reading& reading, std::optional<std::int32_t> given) {
  return given ? *given : guess_tokens(reading, reading.size() - 1, 1).front().token;
}

void require_comparable(const Reading& clean, const Reading& changed) {
  const TextModel &first = clean.model(), &second = changed.model();
  if (&first.transformer() != &second.transformer())
    refuse("lens", "the two prompts were read by different models");
  if (!first.transformer().description().is_causal())
    refuse("lens", "patching needs a model that writes, and ", first.files().name, " does not");
  if (clean.size() != changed.size()) {
    refuse("lens", "the prompts have ", clean.size(), " and ", changed.size(),
           " tokens; patching replaces one token's vectors by another's, so both need the same number");
  }
}

// Passes over the second prompt, many at a time, each with its own change.
class PatchedPasses {
 public:
  PatchedPasses(const Reading& clean, const Reading& changed, const PatchedAnswers& answers,
                std::int64_t batch_tokens)
      : clean_(clean),
        changed_(changed),
        output_(lens::output_layer_of(changed)),
        compared_{answers.answer, answers.other},
        copies_(std::max<std::int64_t>(1, batch_tokens / changed.size())) {}

  double difference(std::span<const double> leaving) const {
    const std::vector<double> logits = output_.logits(leaving, compared_);
    return logits[0] - logits[1];
  }

  // The differences of `count` passes that continue after `layer`; change(pass, text, hidden, edits) makes
  // each of them different: hidden (tokens, E) is its own.
  template <class Change>
  std::vector<double> differences(std::int64_t count, std::int64_t layer, const Change& change) const {
    std::vector<double> result;
    for (std::int64_t first = 0; first < count; first += copies_) {
      const std::int64_t texts = std::min(copies_, count - first);
      const ConstTensorView left = changed_.hidden(layer);
      Tensor hidden(DType::f32, {texts * changed_.size(), left.size(1)});
      TokenBatch batch;
      PassEdits edits;
      for (std::int64_t text = 0; text < texts; ++text) {
        batch.add(changed_.tokens().ids, changed_.tokens().type_ids);
        const TensorView rows = hidden.view().slice(0, text * changed_.size(), (text + 1) * changed_.size());
        copy(left, rows);
        change(first + text, text, rows, edits);
      }
      edits.start = PassStart{.layer = layer, .hidden = hidden};
      const Tensor out = changed_.model().transformer().forward(batch, {}, {}, edits);
      for (std::int64_t text = 0; text < texts; ++text) {
        const Tensor row = copy_of(out.view().select(0, (text + 1) * changed_.size() - 1), DType::f64);
        result.push_back(difference(row.values<double>()));
      }
    }
    return result;
  }

  std::vector<double> states(std::int64_t layer) const {
    return differences(
        clean_.size(), layer, [&](std::int64_t token, std::int64_t, TensorView hidden, PassEdits&) {
          copy(clean_.hidden(layer).slice(0, token, token + 1), hidden.slice(0, token, token + 1));
        });
  }

  // attended (tokens, H, D): of the first prompt.
  std::vector<double> heads(std::int64_t layer, const Tensor& attended) const {
    return differences(
        clean_.heads(), layer - 1, [&](std::int64_t head, std::int64_t text, TensorView, PassEdits& edits) {
          edits.patches.push_back(
              {.layer = layer, .head = head + 1, .text = text, .values = attended.view().select(1, head)});
        });
  }

 private:
  const Reading &clean_, &changed_;
  TokenHead output_;
  std::array<std::int32_t, 2> compared_;
  std::int64_t copies_;
};

// What the heads of every layer contributed to the tokens of a text, (tokens, H, D) each.
std::vector<Tensor> attended_of(const Reading& reading) {
  TokenBatch batch;
  batch.add(reading.tokens().ids, reading.tokens().type_ids);
  std::vector<Tensor> attended;
  reading.model().transformer().forward(batch, [&](const LayerMoment& moment) {
    if (moment.layer > 0) attended.push_back(copy_of(moment.attended));
  });
  return attended;
}

}  // namespace

PatchedAnswers patch_answers(const Reading& clean, const Reading& changed, const PatchOptions& options) {
  require_comparable(clean, changed);
  if (options.batch_tokens < 1)
    refuse("lens", "batch_tokens is ", options.batch_tokens, ", expected 1 or more");
  PatchedAnswers result{.answer = answer_to(clean, options.answer),
                        .other = answer_to(changed, options.other)};
  if (result.answer == result.other)
    refuse("lens", "both prompts have the same answer, so there is nothing to bring back");
  const PatchedPasses passes(clean, changed, result, options.batch_tokens);
  const std::int64_t last = clean.size() - 1, layers = clean.layers();
  result.clean = passes.difference(lens::last_vector(clean, last));
  result.changed = passes.difference(lens::last_vector(changed, last));
  const double whole = result.clean - result.changed;
  if (whole == 0)
    refuse("lens", "both prompts prefer their answers equally, so there is nothing to bring back");
  const auto write = [&](const std::vector<double>& differences, Tensor& table, std::int64_t row) {
    for (std::size_t i = 0; i < differences.size(); ++i)
      table.values<double>()[static_cast<std::size_t>(row) * differences.size() + i] =
          (differences[i] - result.changed) / whole;
  };
  if (options.states) {
    result.states = Tensor(DType::f64, {layers + 1, clean.size()});
    for (std::int64_t layer = 0; layer <= layers; ++layer) write(passes.states(layer), result.states, layer);
  }
  if (options.heads) {
    result.heads = Tensor(DType::f64, {layers, clean.heads()});
    const std::vector<Tensor> attended = attended_of(clean);
    for (std::int64_t layer = 1; layer <= layers; ++layer)
      write(passes.heads(layer, attended[static_cast<std::size_t>(layer) - 1]), result.heads, layer - 1);
  }
  clean.model().require_intact();
  return result;
}

}  // namespace attend
