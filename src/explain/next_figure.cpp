#include <algorithm>

#include "base/error.h"
#include "draw/text_width.h"
#include "explain/next.h"
#include "explain/phrases.h"

namespace attend::explain {
namespace {

constexpr std::size_t kLongestPrompt = 160;  // characters of it in a title

draw::Bars candidates(const Reading& reading, const NextAnswer& answer) {
  draw::Bars bars{.title = "What the model expects there", .bars = {}};
  for (const TokenGuess& guess : answer.guesses) {
    bars.bars.push_back({in_quotes(shown_token(reading, guess.token)), guess.probability,
                         guess.token == answer.layers.watched});
  }
  return bars;
}

draw::Plot by_layer(const Reading& reading, const NextAnswer& answer) {
  draw::Series series{.name = shown_token(reading, answer.layers.watched), .x = {}, .y = {}};
  for (const LayerGuesses& layer : answer.layers.layers) {
    series.x.push_back(static_cast<double>(layer.layer));
    series.y.push_back(layer.probability);
  }
  return {
      .title = joined("How probable ", in_quotes(series.name), " would be if the model ended after a layer"),
      .x = {.label = "layer"},
      .y = {.label = "probability"},
      .series = {series}};
}

draw::Bars parts_of_tokens(const Reading& reading, const NextAnswer& answer) {
  draw::Bars bars{
      .title = joined("What each token did for ", in_quotes(shown_token(reading, answer.layers.watched))),
      .bars = {}};
  const std::vector<std::string> labels = token_labels(reading);
  const std::vector<double>& parts = answer.attributions.tokens;
  const auto largest = std::max_element(parts.begin(), parts.end()) - parts.begin();
  for (std::size_t t = 0; t < parts.size(); ++t)
    bars.bars.push_back({labels[t], parts[t], static_cast<std::ptrdiff_t>(t) == largest});
  return bars;
}

draw::Heatmap patched_map(std::string title, const Tensor& values, std::vector<std::string> rows,
                          std::vector<std::string> columns) {
  draw::Heatmap map{.title = std::move(title),
                    .rows = static_cast<std::size_t>(values.size(0)),
                    .columns = static_cast<std::size_t>(values.size(1)),
                    .row_labels = std::move(rows),
                    .column_labels = std::move(columns),
                    .values = {values.values<double>().begin(), values.values<double>().end()},
                    .masked = {},
                    .range = {},
                    .row_title = "layer",
                    .column_title = {},
                    .value_label = "comes back"};
  map.range = {std::min(0.0, draw::range_of(map).low), std::max(1e-9, draw::range_of(map).high)};
  return map;
}

}  // namespace

draw::Figure next_figure(const Reading& reading, const Reading* other, const NextRequest& request,
                         const NextAnswer& answer) {
  draw::Figure figure;
  figure.title = draw::shorten(draw::printable(title_of(reading)), kLongestPrompt);
  figure.parts = {candidates(reading, answer), by_layer(reading, answer), parts_of_tokens(reading, answer)};
  const bool integrated = request.attribution == Attribution::integrated;
  figure.notes.push_back(joined(draw::printable(reading.model().files().name), "; what a token did is ",
                                integrated ? "its integrated gradient" : "its gradient × embedding",
                                " for the logit."));
  if (!answer.patched) return figure;
  const PatchedAnswers& patched = *answer.patched;
  std::vector<std::string> layers, heads;
  for (std::int64_t layer = 0; layer <= reading.layers(); ++layer) layers.push_back(std::to_string(layer));
  for (std::int64_t head = 1; head <= reading.heads(); ++head) heads.push_back(std::to_string(head));
  figure.parts.push_back(patched_map("One token's vector put into the other prompt, after each layer",
                                     patched.states, layers, token_labels(*other)));
  layers.erase(layers.begin());
  figure.parts.push_back(patched_map("What one head (columns) contributes, put into the other prompt",
                                     patched.heads, layers, heads));
  figure.notes.push_back(
      joined("The other prompt: ", in_quotes(draw::shorten(draw::printable(other->text()), kLongestPrompt)),
             ". At 1, all of the preference for ", in_quotes(shown_token(reading, patched.answer)), " over ",
             in_quotes(shown_token(reading, patched.other)), " is back."));
  return figure;
}

}  // namespace attend::explain
