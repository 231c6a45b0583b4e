#include "lens/token_streams.h"

#include "base/parallel.h"
#include "lens/output_layer.h"

namespace attend::lens {

Tensor attended_at(const Reading& reading, std::int64_t number, std::span<const std::int64_t> places) {
  const Reading::Layer& layer = reading.layer(number);
  const std::int64_t n = reading.size(), heads = layer.q.size(1), d = layer.v.size(2);
  const std::int64_t group = heads / layer.v.size(1), rows = static_cast<std::int64_t>(places.size());
  const Tensor weights = attention_rows(layer.q, layer.k, layer.options, Stage::weights,
                                        {.rows = std::vector(places.begin(), places.end())}, layer.state);
  const std::span<const float> w = weights.values<float>(), v = layer.v.values<float>();
  Tensor attended(DType::f32, {rows, heads, d});
  const std::span<float> out = attended.values<float>();
  parallel_for(rows * heads, [&](std::int64_t which, int) noexcept {
    const std::int64_t row = which / heads, head = which % heads;
    for (std::int64_t i = 0; i < d; ++i) {
      double sum = 0;
      for (std::int64_t j = 0; j < n; ++j) {
        const float weight = w[static_cast<std::size_t>((head * rows + row) * n + j)];
        // A key that takes no part adds nothing, whatever its value is.
        if (weight == 0) continue;
        const std::int64_t at = (j * (heads / group) + head / group) * d + i;
        sum += static_cast<double>(weight) * static_cast<double>(v[static_cast<std::size_t>(at)]);
      }
      out[static_cast<std::size_t>(which * d + i)] = static_cast<float>(sum);
    }
  });
  return attended;
}

std::vector<Tensor> token_streams(const Reading& reading, std::span<const std::int64_t> places) {
  const std::int64_t rows = static_cast<std::int64_t>(places.size()), layers = reading.layers();
  const std::int64_t e = reading.model().transformer().description().hidden_size;
  const auto kept = [&](std::int64_t layer) {
    Tensor stream(DType::f32, {rows, e});
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t place = places[static_cast<std::size_t>(row)];
      require_place(reading, place);
      copy(reading.hidden(layer).select(0, place), stream.view().select(0, row));
    }
    return stream;
  };
  std::vector<Tensor> streams;
  streams.push_back(kept(0));
  for (std::int64_t layer = 1; layer <= layers; ++layer) {
    if (layer < layers && reading.layer(layer).hidden.count() > 0) {
      streams.push_back(kept(layer));
      continue;
    }
    const Tensor& in = streams.back();
    LayerParts parts =
        reading.model().transformer().layer_parts(layer, in, attended_at(reading, layer, places));
    for (std::int64_t row = 0; row < rows; ++row) {
      if (!reading.looking(layer).contains(places[static_cast<std::size_t>(row)]))
        copy(in.view().select(0, row), parts.out.view().select(0, row));
    }
    streams.push_back(std::move(parts.out));
  }
  return streams;
}

}  // namespace attend::lens
