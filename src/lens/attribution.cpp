// What each token of a text did for a guess: gradients at the embeddings.
#include <attend/lens_next.h>

#include <array>
#include <cmath>

#include "base/error.h"
#include "lens/output_layer.h"

namespace attend {
namespace {

std::int32_t neutral_token_of(const TextModel& model, const AttributionOptions& options) {
  if (options.neutral_token) return *options.neutral_token;
  if (const std::optional<std::int32_t> pad = model.transformer().description().pad_token) return *pad;
  for (const char* const name : {"[PAD]", "<pad>", "<|endoftext|>", "</s>", "<eos>"}) {
    if (const std::optional<std::int32_t> id = model.tokenizer().id(name)) return *id;
  }
  return 0;
}

TokenBatch batch_of(const Reading& reading) {
  TokenBatch batch;
  batch.add(reading.tokens().ids, reading.tokens().type_ids);
  return batch;
}

// A pass over given embeddings: the logit, and its gradient with respect to them.
class EmbeddedPass {
 public:
  EmbeddedPass(const Reading& reading, std::int64_t place, std::int32_t token)
      : transformer_(reading.model().transformer()),
        batch_(batch_of(reading)),
        output_(lens::output_layer_of(reading)),
        place_(place),
        token_(token) {}

  double logit(ConstTensorView embeddings) const { return output_.logits(leaving(embeddings), only())[0]; }

  Tensor gradient(ConstTensorView embeddings) const {
    const std::vector<double> d_row = output_.gradient(leaving(embeddings), token_);
    Tensor d_hidden(DType::f64, embeddings.shape());
    std::copy(d_row.begin(), d_row.end(),
              d_hidden.values<double>().begin() + place_ * static_cast<std::int64_t>(d_row.size()));
    return std::move(transformer_.gradients(batch_, d_hidden, {}, embeddings).embeddings);
  }

  // What enters the first layer where every token is the same one, at the places of the text.
  Tensor neutral(std::int32_t token) const {
    TokenBatch same = batch_;
    same.ids.assign(same.ids.size(), token);
    return transformer_.forward(same, LayerObserver(), 0);
  }

 private:
  std::array<std::int32_t, 1> only() const { return {token_}; }
  std::vector<double> leaving(ConstTensorView embeddings) const {
    const Tensor all =
        transformer_.forward(batch_, {}, {}, {.start = PassStart{.layer = 0, .hidden = embeddings}});
    const Tensor row = copy_of(all.view().select(0, place_), DType::f64);
    return {row.values<double>().begin(), row.values<double>().end()};
  }

  const Transformer& transformer_;
  TokenBatch batch_;
  TokenHead output_;
  std::int64_t place_;
  std::int32_t token_;
};

// into[t] += weight * sum over e of (a - b)[t, e] * d[t, e]; b is optional.
void add_products(std::vector<double>& into, const Tensor& a, const Tensor* b, const Tensor& d,
                  double weight) {
  const auto e = static_cast<std::size_t>(a.size(1));
  for (std::size_t t = 0; t < into.size(); ++t) {
    double sum = 0;
    for (std::size_t i = t * e; i < (t + 1) * e; ++i) {
      const double from = b == nullptr ? 0.0 : static_cast<double>(b->values<float>()[i]);
      sum += (static_cast<double>(a.values<float>()[i]) - from) * static_cast<double>(d.values<float>()[i]);
    }
    into[t] += weight * sum;
  }
}

}  // namespace

std::string_view name_of(Attribution method) noexcept {
  return method == Attribution::gradient ? "gradient" : "integrated";
}

TokenAttributions attribute_guess(const Reading& reading, std::int64_t place, std::int32_t token,
                                  const AttributionOptions& options) {
  lens::require_place(reading, place);
  if (options.steps < 1 || options.steps > 10000)
    refuse("lens", "steps is ", options.steps, ", expected 1 to 10000");
  const EmbeddedPass pass(reading, place, token);
  const Tensor own = copy_of(reading.hidden(0));
  TokenAttributions result{.tokens = std::vector<double>(static_cast<std::size_t>(reading.size())),
                           .logit = pass.logit(own)};
  if (options.method == Attribution::gradient) {
    add_products(result.tokens, own, nullptr, pass.gradient(own), 1);
    reading.model().require_intact();
    return result;
  }
  result.neutral_token = neutral_token_of(reading.model(), options);
  const Tensor neutral = pass.neutral(result.neutral_token);
  result.neutral_logit = pass.logit(neutral);
  Tensor between(DType::f32, own.shape());
  for (std::int64_t step = 0; step < options.steps; ++step) {
    const double share = (static_cast<double>(step) + 0.5) / static_cast<double>(options.steps);
    for (std::size_t i = 0; i < between.values<float>().size(); ++i) {
      const auto from = static_cast<double>(neutral.values<float>()[i]),
                 to = static_cast<double>(own.values<float>()[i]);
      between.values<float>()[i] = static_cast<float>(from + share * (to - from));
    }
    add_products(result.tokens, own, &neutral, pass.gradient(between),
                 1 / static_cast<double>(options.steps));
  }
  double sum = 0;
  for (const double part : result.tokens) sum += part;
  const double whole = result.logit - result.neutral_logit;
  result.missing = whole == 0 ? 0 : std::abs(whole - sum) / std::abs(whole);
  reading.model().require_intact();
  return result;
}

}  // namespace attend
