#include "support/textbook.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attend {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Element of a tensor of rank <= 4 that broadcasts to four axes from the right.
double element(ConstTensorView view, std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
  const std::int64_t index[4] = {a, b, c, d};
  std::int64_t offset = 0;
  for (int axis = 0; axis < view.rank(); ++axis) {
    if (view.size(axis) > 1) offset += index[4 - view.rank() + axis] * view.stride(axis);
  }
  switch (view.dtype()) {
    case DType::f32:
      return view.data<float>()[offset];
    case DType::f64:
      return view.data<double>()[offset];
    case DType::bf16:
      return to_float(view.data<bfloat16>()[offset]);
    case DType::f16:
      return to_float(view.data<float16>()[offset]);
    case DType::boolean:
      return static_cast<const unsigned char*>(view.raw())[offset] != 0;
    case DType::i64:
      return static_cast<double>(view.data<std::int64_t>()[offset]);
  }
  return 0;
}

}  // namespace

Textbook textbook_attention(ConstTensorView q, ConstTensorView k, ConstTensorView v,
                            const AttentionOptions& options) {
  const bool packed = !options.cumulative_query_lengths.empty();
  const auto sequences =
      packed ? static_cast<std::int64_t>(options.cumulative_query_lengths.size()) - 1 : q.size(0);
  const std::int64_t heads = q.size(1), group = heads == 0 ? 1 : heads / k.size(1);
  const std::int64_t d = q.size(q.rank() - 1), dv = v.size(v.rank() - 1);
  const auto part = [&](const std::vector<std::int64_t>& ends, std::int64_t s) {
    return std::pair{ends[static_cast<std::size_t>(s)], ends[static_cast<std::size_t>(s) + 1]};
  };

  std::int64_t most_queries = packed ? 0 : q.size(2), most_keys = packed ? 0 : k.size(2);
  for (std::int64_t s = 0; packed && s < sequences; ++s) {
    const auto [q0, q1] = part(options.cumulative_query_lengths, s);
    const auto [k0, k1] = part(options.cumulative_key_lengths, s);
    most_queries = std::max(most_queries, q1 - q0);
    most_keys = std::max(most_keys, k1 - k0);
  }

  Textbook result;
  const auto cells = static_cast<std::size_t>(sequences * heads * most_queries * most_keys);
  for (auto* stage : {&result.scores, &result.capped, &result.biased, &result.weights})
    stage->assign(cells, 0);
  Dims shape = q.shape();
  shape[shape.rank() - 1] = dv;
  result.output = Tensor(DType::f64, shape);
  result.max = Tensor(DType::f64, q.shape().without(q.rank() - 1));
  result.sum = Tensor(DType::f64, q.shape().without(q.rank() - 1));

  for (std::int64_t s = 0; s < sequences; ++s) {
    ConstTensorView qs, ks, vs;  // (H, L, D) of this sequence
    TensorView out, max, sum;
    if (packed) {
      const auto [q0, q1] = part(options.cumulative_query_lengths, s);
      const auto [k0, k1] = part(options.cumulative_key_lengths, s);
      qs = q.slice(0, q0, q1).transposed(0, 1);
      ks = k.slice(0, k0, k1).transposed(0, 1);
      vs = v.slice(0, k0, k1).transposed(0, 1);
      out = result.output.view().slice(0, q0, q1).transposed(0, 1);
      max = result.max.view().slice(0, q0, q1).transposed(0, 1);
      sum = result.sum.view().slice(0, q0, q1).transposed(0, 1);
    } else {
      qs = q.select(0, s), ks = k.select(0, s), vs = v.select(0, s);
      out = result.output.view().select(0, s);
      max = result.max.view().select(0, s);
      sum = result.sum.view().select(0, s);
    }
    const std::int64_t lq = qs.size(1), lk = ks.size(1);
    const std::int64_t exists =
        options.key_lengths.empty() ? lk : options.key_lengths[static_cast<std::size_t>(s)];
    std::int64_t offset = 0;
    switch (options.query_offset.kind()) {
      case QueryOffset::Kind::one:
        offset = options.query_offset.values()[0];
        break;
      case QueryOffset::Kind::per_sequence:
        offset = options.query_offset.values()[static_cast<std::size_t>(s)];
        break;
      case QueryOffset::Kind::bottom_right:
        offset = exists - lq;
        break;
    }
    const double scale = options.scale ? *options.scale : std::pow(static_cast<double>(d), -0.5);

    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t i = 0; i < lq; ++i) {
        const auto row = static_cast<std::size_t>(((s * heads + h) * most_queries + i) * most_keys);
        const std::int64_t position = i + offset;
        double largest = options.sinks.empty() ? -kInfinity : options.sinks[static_cast<std::size_t>(h)];
        for (std::int64_t j = 0; j < lk; ++j) {
          const auto cell = row + static_cast<std::size_t>(j);
          double score = 0;
          for (std::int64_t c = 0; c < d; ++c)
            score += element(qs, 0, h, i, c) * element(ks, 0, h / group, j, c);
          result.scores[cell] = score * scale;
          result.capped[cell] = options.softcap > 0
                                    ? options.softcap * std::tanh(result.scores[cell] / options.softcap)
                                    : result.scores[cell];
          double biased = result.capped[cell];
          if (options.bias.given()) biased += element(options.bias, s, h, i, j);
          if (!options.alibi_slopes.empty()) {
            biased -= options.alibi_slopes[static_cast<std::size_t>(h)] *
                      std::fabs(static_cast<double>(position) - static_cast<double>(j));
          }
          const bool out_of_sight = j >= exists || (options.causal && j > position) ||
                                    (options.window.left >= 0 && j < position - options.window.left) ||
                                    (options.window.right >= 0 && j > position + options.window.right) ||
                                    (options.mask.given() && element(options.mask, s, h, i, j) == 0);
          result.biased[cell] = out_of_sight ? -kInfinity : biased;
          largest = std::max(largest, result.biased[cell]);
        }
        double total = 0;
        if (largest > -kInfinity) {
          if (!options.sinks.empty()) total += std::exp(options.sinks[static_cast<std::size_t>(h)] - largest);
          for (std::int64_t j = 0; j < lk; ++j) {
            total += std::exp(result.biased[row + static_cast<std::size_t>(j)] - largest);
          }
        }
        max.data<double>()[h * max.stride(0) + i * max.stride(1)] = largest;
        sum.data<double>()[h * sum.stride(0) + i * sum.stride(1)] = total;
        for (std::int64_t j = 0; j < lk; ++j) {
          const auto cell = row + static_cast<std::size_t>(j);
          result.weights[cell] = total == 0 ? 0 : std::exp(result.biased[cell] - largest) / total;
          for (std::int64_t c = 0; c < dv; ++c) {
            out.data<double>()[h * out.stride(0) + i * out.stride(1) + c * out.stride(2)] +=
                result.weights[cell] * element(vs, 0, h / group, j, c);
          }
        }
      }
    }
  }
  return result;
}

}  // namespace attend
