// Loads a model, embeds two texts, and reads what each token of the first looks at in one head of one layer.
//
//   read_attention [MODEL [TEXT [TEXT [LAYER [HEAD]]]]]      MODEL: a folder, or a name in the hub's cache
#include <attend/attend.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

std::int64_t number(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    throw std::invalid_argument("\"" + text + "\" is not a whole number");
  return value;
}

double cosine(std::span<const float> a, std::span<const float> b) {
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += double{a[i]} * b[i];
    aa += double{a[i]} * a[i];
    bb += double{b[i]} * b[i];
  }
  return ab / std::sqrt(aa * bb);
}

// The three keys that each token of a text gives most weight to, from the forward pass itself: the layer
// shows its queries and keys while it happens, and no matrix of weights is made.
void print_top_keys(const attend::TextModel& model, std::string_view text, std::int64_t layer,
                    std::int64_t head) {
  const attend::ModelDescription& description = model.transformer().description();
  if (layer < 1 || layer > description.layer_count() || head < 1 || head > description.heads())
    throw std::invalid_argument("layers count from 1 to " + std::to_string(description.layer_count()) +
                                ", heads count from 1 to " + std::to_string(description.heads()));
  const attend::Encoding tokens = model.encode(text);
  const auto name = [&](std::int64_t i) {
    return std::string(model.tokenizer().token(tokens.ids[static_cast<std::size_t>(i)]));
  };
  attend::TokenBatch batch;
  batch.add(tokens.ids, tokens.type_ids);
  const auto look = [&](const attend::LayerMoment& moment) {
    if (moment.layer != layer) return;
    const attend::WeightsSummary seen =
        attend::summarize_weights(moment.q, moment.k, moment.options, {.top_k = 3}, moment.row_state);
    for (std::int64_t i = 0; i < batch.tokens(); ++i) {  // top_keys and top_weights: (tokens, heads, 3)
      const auto row = static_cast<std::size_t>((i * description.heads() + head - 1) * 3);
      std::printf("%12s ", name(i).c_str());
      for (std::size_t best = row; best < row + 3; ++best) {
        const std::int64_t key = seen.top_keys.values<std::int64_t>()[best];
        if (key >= 0)
          std::printf("  %s %.3f", name(key).c_str(), double{seen.top_weights.values<float>()[best]});
      }
      std::printf("\n");
    }
  };
  model.transformer().forward(batch, look, layer);
}

}  // namespace

int main(int count, char** arguments) try {
  std::vector<std::string> given{"sentence-transformers/all-MiniLM-L6-v2",
                                 "The animal didn't cross the street because it was too tired.",
                                 "The dog was exhausted and stayed on this side of the road.", "4", "2"};
  if (count > 6) throw std::invalid_argument("expected at most MODEL TEXT TEXT LAYER HEAD");
  std::copy(arguments + 1, arguments + count, given.begin());
  const attend::TextModel model = attend::TextModel::load(given[0]);

  const std::vector<std::string_view> texts{given[1], given[2]};
  const attend::Tensor vectors = model.embed(texts);  // (texts, size)
  const auto size = static_cast<std::size_t>(model.embedding_size());
  const std::span<const float> values = vectors.values<float>();
  std::printf("cosine of the two texts: %.4f\n", cosine(values.first(size), values.last(size)));

  std::printf("layer %s, head %s:\n", given[3].c_str(), given[4].c_str());
  print_top_keys(model, texts[0], number(given[3]), number(given[4]));
} catch (const std::exception& error) {
  std::fprintf(stderr, "read_attention: %s\n", error.what());
  return 1;
}
