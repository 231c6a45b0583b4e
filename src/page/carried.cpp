#include "page/carried.h"

#include <bit>
#include <vector>

#include "base/error.h"
#include "io/base64.h"
#include "lens/value_products.h"

namespace attend::page {
namespace {

static_assert(std::endian::native == std::endian::little, "pages carry little-endian numbers");

void append(std::vector<float>& all, const Tensor& values) {
  const std::span<const float> numbers = values.values<float>();
  all.insert(all.end(), numbers.begin(), numbers.end());
}

void append_products(std::vector<float>& all, const Tensor& products) {
  const std::int64_t n = products.size(0), heads = products.size(1);
  const std::span<const double> values = products.values<double>();
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t g = h; g < heads; ++g)
        all.push_back(static_cast<float>(values[static_cast<std::size_t>((j * heads + h) * heads + g)]));
    }
  }
}

// Of a recording: nothing is known of the projections, and the page shows no lengths.
void append_no_products(std::vector<float>& all, std::int64_t n, std::int64_t heads) {
  all.insert(all.end(), static_cast<std::size_t>(n * heads * (heads + 1) / 2), 0.0F);
}

// Keys or values (n, key heads, D), once for each head of the queries, which may share them.
void append_for_queries(std::vector<float>& all, const Tensor& part, std::int64_t heads) {
  const std::int64_t group = heads / part.size(1);
  if (group == 1) return append(all, part);
  Tensor repeated(DType::f32, {part.size(0), heads, part.size(2)});
  for (std::int64_t h = 0; h < heads; ++h)
    copy(part.view().select(1, h / group), repeated.view().select(1, h));
  append(all, repeated);
}

// A bias (1, H, n, n) in which every diagonal is constant.
void append_bias(std::vector<float>& all, ConstTensorView bias, std::int64_t heads, std::int64_t n) {
  for (std::int64_t h = 0; h < heads; ++h) {
    const float* const head = bias.select(0, 0).select(0, h).data<float>();
    for (std::int64_t d = 1 - n; d < n; ++d) all.push_back(head[d * bias.stride(3)]);
  }
}

// ALiBi is such a bias; a layer without one, where other layers have one, adds 0.
void append_slopes(std::vector<float>& all, const std::vector<double>& slopes, std::int64_t heads,
                   std::int64_t n) {
  for (std::int64_t h = 0; h < heads; ++h) {
    const double slope = slopes.empty() ? 0 : slopes[static_cast<std::size_t>(h)];
    for (std::int64_t d = 1 - n; d < n; ++d)
      all.push_back(static_cast<float>(-slope * static_cast<double>(d < 0 ? -d : d)));
  }
}

// Layers of a recording may be of any kind; a page knows one head size and no masks but those of sources and
// targets.
void require_carried(const Reading::Layer& layer, const Reading::Layer& first) {
  if (layer.options.mask.given())
    refuse("page", "a page cannot carry a mask, which this recording has; attend explore can show it");
  if (layer.q.size(2) != first.q.size(2) || layer.v.size(2) != first.q.size(2))
    refuse("page", "a page carries queries, keys and values of one size, in all layers");
}

bool has_layer_bias(const Reading& reading, const AttentionOptions& options) {
  const ConstTensorView bias = options.bias;
  if (!bias.given()) return !options.alibi_slopes.empty();
  const bool by_distance = bias.dtype() == DType::f32 && bias.rank() == 4 && bias.size(0) == 1 &&
                           bias.size(1) == reading.heads() && bias.stride(2) == -bias.stride(3);
  if (!by_distance)
    refuse("page", "a page can only carry a bias that depends on nothing but the distance of two tokens");
  return true;
}

}  // namespace

bool has_distance_bias(const Reading& reading) {
  bool any = false;
  for (std::int64_t layer = 1; layer <= reading.layers(); ++layer) {
    if (!reading.has_model()) require_carried(reading.layer(layer), reading.layer(1));
    any = has_layer_bias(reading, reading.layer(layer).options) || any;
  }
  return any;
}

std::string carried_layer(const Reading& reading, std::int64_t number) {
  const Reading::Layer& layer = reading.layer(number);
  std::vector<float> numbers;
  append(numbers, layer.q);
  append_for_queries(numbers, layer.k, reading.heads());
  append_for_queries(numbers, layer.v, reading.heads());
  if (reading.has_model()) {
    append_products(numbers, lens::value_products(reading, number));
  } else {
    append_no_products(numbers, reading.size(), reading.heads());
  }
  if (has_distance_bias(reading)) {
    if (layer.options.bias.given()) {
      append_bias(numbers, layer.options.bias, reading.heads(), reading.size());
    } else {
      append_slopes(numbers, layer.options.alibi_slopes, reading.heads(), reading.size());
    }
  }
  return io::to_base64({reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float)});
}

}  // namespace attend::page
