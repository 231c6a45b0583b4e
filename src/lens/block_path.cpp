#include <attend/lens_block.h>
#include <attend/lens_next.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "lens/output_layer.h"
#include "lens/token_streams.h"

namespace attend {
namespace {

constexpr std::size_t kPlacesAtOnce = 32;  // whose vectors of all heads of a layer exist at the same time

using Vector = std::span<const float>;

Vector vector_at(const Tensor& rows, std::int64_t row, std::int64_t size) {
  return rows.values<float>().subspan(static_cast<std::size_t>(row * size), static_cast<std::size_t>(size));
}

double product_of(Vector a, Vector b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

double length_of(Vector a) { return std::sqrt(product_of(a, a)); }

double product_with(Vector a, std::span<const double> slope) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * slope[i];
  return sum;
}

BlockPart part_of(Vector input, Vector added, Vector stream) {
  const double length = length_of(added), both = length * length_of(stream);
  return {.input = length_of(input),
          .length = length,
          .cosine = both == 0 ? 0 : product_of(added, stream) / both};
}

// What belongs to no head: attention less the sum of its heads.
std::vector<float> rest_of(const LayerParts& parts, std::int64_t row, std::int64_t heads, std::int64_t e) {
  const Vector all = vector_at(parts.attention, row, e);
  std::vector<double> rest(all.begin(), all.end());
  for (std::int64_t h = 0; h < heads; ++h) {
    const Vector head = vector_at(parts.heads, row * heads + h, e);
    for (std::size_t i = 0; i < rest.size(); ++i) rest[i] -= static_cast<double>(head[i]);
  }
  return {rest.begin(), rest.end()};
}

BlockLayer layer_of(const LayerDescription& layer, std::int64_t number, const LayerParts& parts, Vector in,
                    Vector rest, std::int64_t row) {
  const auto e = static_cast<std::int64_t>(in.size());
  const std::int64_t heads = layer.attention.heads;
  const Vector middle = vector_at(parts.middle, row, e);
  BlockLayer path{
      .layer = number,
      .in = length_of(in),
      .middle = length_of(middle),
      .out = length_of(vector_at(parts.out, row, e)),
      .attention = part_of(vector_at(parts.attention_input, row, e), vector_at(parts.attention, row, e), in),
      .rest = length_of(rest)};
  for (std::int64_t h = 0; h < heads; ++h)
    path.heads.push_back(length_of(vector_at(parts.heads, row * heads + h, e)));
  if (layer.feed_forward) {
    path.feed_forward =
        part_of(vector_at(parts.feed_forward_input, row, e), vector_at(parts.feed_forward, row, e),
                layer.feed_forward->parallel ? in : middle);
  }
  return path;
}

// A few places, through all layers.
class PathsTogether {
 public:
  PathsTogether(const Reading& reading, std::span<const BlockQuestion> questions)
      : reading_(reading),
        transformer_(reading.model().transformer()),
        e_(transformer_.description().hidden_size),
        questions_(questions) {
    for (const BlockQuestion& question : questions_) places_.push_back(question.place);
    streams_ = lens::token_streams(reading_, places_);
  }

  std::vector<BlockPath> paths(const std::optional<TokenHead>& head) {
    for (std::size_t row = 0; row < places_.size(); ++row) begin(row, head);
    for (std::int64_t layer = 1; layer <= reading_.layers(); ++layer) {
      const Tensor& in = streams_[static_cast<std::size_t>(layer) - 1];
      const LayerParts parts =
          transformer_.layer_parts(layer, in, lens::attended_at(reading_, layer, places_));
      for (std::size_t row = 0; row < places_.size(); ++row) {
        if (reading_.looking(layer).contains(places_[row])) add(row, layer, parts);
      }
    }
    for (BlockPath& path : paths_) {
      for (LogitParts& logit : path.logits) finish(logit);
    }
    return std::move(paths_);
  }

 private:
  void begin(std::size_t row, const std::optional<TokenHead>& head) {
    const BlockQuestion& question = questions_[row];
    BlockPath path{.place = question.place};
    std::vector<std::vector<double>> slopes;
    const auto index = static_cast<std::int64_t>(row);
    for (const std::int32_t token : question.tokens) {
      const Transformer::HeldNorm held =
          transformer_.held_final_norm(streams_.back().view().select(0, index), head->direction(token));
      path.logits.push_back({.token = token,
                             .embedding = product_with(vector_at(streams_.front(), index, e_), held.slope),
                             .constant = held.constant});
      slopes.push_back(held.slope);
    }
    slopes_.push_back(std::move(slopes));
    paths_.push_back(std::move(path));
  }

  void add(std::size_t row, std::int64_t number, const LayerParts& parts) {
    const LayerDescription& layer = transformer_.description().layer(number);
    const auto index = static_cast<std::int64_t>(row);
    const std::int64_t heads = layer.attention.heads;
    const std::vector<float> rest = rest_of(parts, index, heads, e_);
    const Vector in = vector_at(streams_[static_cast<std::size_t>(number) - 1], index, e_);
    BlockPath& path = paths_[row];
    path.layers.push_back(layer_of(layer, number, parts, in, rest, index));
    for (std::size_t t = 0; t < path.logits.size(); ++t) {
      const std::vector<double>& slope = slopes_[row][t];
      LayerLogits logits{.rest = product_with(rest, slope)};
      for (std::int64_t h = 0; h < heads; ++h)
        logits.heads.push_back(product_with(vector_at(parts.heads, index * heads + h, e_), slope));
      if (layer.feed_forward)
        logits.feed_forward = product_with(vector_at(parts.feed_forward, index, e_), slope);
      path.logits[t].layers.push_back(std::move(logits));
    }
  }

  static void finish(LogitParts& parts) {
    parts.logit = parts.embedding + parts.constant;
    for (const LayerLogits& layer : parts.layers) {
      parts.logit += layer.rest + layer.feed_forward;
      for (const double head : layer.heads) parts.logit += head;
    }
  }

  const Reading& reading_;
  const Transformer& transformer_;
  std::int64_t e_;
  std::span<const BlockQuestion> questions_;
  std::vector<std::int64_t> places_;
  std::vector<Tensor> streams_;
  std::vector<std::vector<std::vector<double>>> slopes_;  // of each place, for each of its tokens
  std::vector<BlockPath> paths_;
};

}  // namespace

bool has_logit_parts(const Reading& reading) {
  const ModelDescription& description = reading.model().transformer().description();
  const bool adds =
      std::none_of(description.layers.begin(), description.layers.end(),
                   [](const LayerDescription& layer) { return layer.norm.place == NormPlace::after; });
  return adds && expects_next(reading).size() > 0;
}

std::vector<BlockPath> block_paths(const Reading& reading, std::span<const BlockQuestion> questions) {
  const bool logits = std::any_of(questions.begin(), questions.end(),
                                  [](const BlockQuestion& question) { return !question.tokens.empty(); });
  if (logits && !has_logit_parts(reading)) {
    refuse("lens", "logits are taken apart for models that write and whose layers only add to the stream, ",
           "which is not the case for ", reading.model().files().name);
  }
  std::optional<TokenHead> head;
  if (logits) head = lens::output_layer_of(reading);
  std::vector<BlockPath> paths;
  for (std::size_t first = 0; first < questions.size(); first += kPlacesAtOnce) {
    const std::size_t count = std::min(kPlacesAtOnce, questions.size() - first);
    for (BlockPath& path : PathsTogether(reading, questions.subspan(first, count)).paths(head))
      paths.push_back(std::move(path));
  }
  reading.model().require_intact();
  return paths;
}

BlockPath block_path(const Reading& reading, std::int64_t place, std::vector<std::int32_t> tokens) {
  const BlockQuestion question{.place = place, .tokens = std::move(tokens)};
  return std::move(block_paths(reading, std::span(&question, 1)).front());
}

}  // namespace attend
