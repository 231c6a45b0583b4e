#include "attention/weights_cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>

#include "support/compare.h"
#include "support/covering_array.h"
#include "support/sanitized.h"

namespace attend {
namespace {

// One sequence of a call: how many queries and keys, and where its rows begin in packed tensors.
struct Part {
  std::int64_t queries, keys, query_begin, key_begin;
};

std::vector<Part> parts_of(const AttentionInputs& in) {
  const auto& q = in.options.cumulative_query_lengths;
  const auto& k = in.options.cumulative_key_lengths;
  std::vector<Part> parts;
  if (q.empty()) {
    parts.assign(static_cast<std::size_t>(in.q.size(0)), {in.q.size(2), in.k.size(2), 0, 0});
  }
  for (std::size_t s = 0; s + 1 < q.size(); ++s) {
    parts.push_back({q[s + 1] - q[s], k[s + 1] - k[s], q[s], k[s]});
  }
  return parts;
}

// One sequence of a tensor with the axes of q, k, or a row state: (heads, rows, ...).
template <class View>
View weights_sequence_of(View view, const AttentionInputs& in, std::int64_t s, std::int64_t begin,
                         std::int64_t count) {
  if (in.options.cumulative_query_lengths.empty()) return view.select(0, s);
  return view.slice(0, begin, begin + count).transposed(0, 1);
}

// (heads, queries, keys) of one sequence at one stage, in float64.
Tensor matrix(const AttentionInputs& in, std::int64_t s, const Part& part, Stage stage) {
  const Tensor rows = reference::attention_rows(in.q, in.k, in.options, stage, {.sequences = {s}});
  return copy_of(rows.view().select(0, 0).slice(2, 0, part.keys));
}

void define_row(const WeightsRequest& request, const double* biased, const double* weights, std::int64_t n,
                std::int64_t* top, double* top_weights, double* entropy) {
  if (request.entropy) {
    for (std::int64_t j = 0; j < n; ++j) {
      if (weights[j] != 0) *entropy -= weights[j] * std::log(weights[j]);
    }
  }
  if (request.top_k == 0) return;
  const bool has_nan = std::any_of(weights, weights + n, [](double w) { return std::isnan(w); });
  std::vector<std::int64_t> order;
  for (std::int64_t j = 0; j < n; ++j) {
    if (biased[j] != -INFINITY && !has_nan) order.push_back(j);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t a, std::int64_t b) { return biased[a] > biased[b]; });
  for (std::int64_t i = 0; i < request.top_k; ++i) {
    const auto place = static_cast<std::size_t>(i);
    top[i] = place < order.size() ? order[place] : -1;
    top_weights[i] = place < order.size() ? weights[top[i]] : has_nan ? NAN : 0;
  }
}

std::int64_t first_of(std::int64_t cell, std::int64_t length, std::int64_t cells) {
  return cell * length / cells;
}

double define_cell(const WeightsRequest& request, const double* weights, const Part& part, std::int64_t r,
                   std::int64_t c) {
  const std::int64_t top = first_of(r, part.queries, request.map_rows);
  const std::int64_t bottom = std::max(top + 1, first_of(r + 1, part.queries, request.map_rows));
  const std::int64_t left = first_of(c, part.keys, request.map_columns);
  const std::int64_t right = std::max(left + 1, first_of(c + 1, part.keys, request.map_columns));
  double sum = 0, max = 0;
  bool has_nan = false;
  for (std::int64_t i = top; i < bottom; ++i) {
    for (std::int64_t j = left; j < right; ++j) {
      const double w = weights[i * part.keys + j];
      sum += w;
      max = std::max(max, w);
      has_nan |= std::isnan(w);
    }
  }
  if (has_nan) return NAN;
  return request.map_reduction == MapReduction::max
             ? max
             : sum / static_cast<double>((bottom - top) * (right - left));
}

}  // namespace

void expect_close(const char* what, const Tensor& got, const Tensor& expected, double bound) {
  ASSERT_EQ(got.shape(), expected.shape()) << what;
  const std::vector<double> a = values_of(got), b = values_of(expected);
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_LE(difference(a[i], b[i]), bound * std::max(1.0, std::abs(b[i]))) << what << " at " << i;
  }
}

std::string describe(const WeightsCase& c) {
  std::ostringstream text;
  text << describe(c.attention) << " top_k=" << c.request.top_k << " received=" << c.request.received
       << " entropy=" << c.request.entropy << " map=" << c.request.map_rows << "x" << c.request.map_columns
       << (c.request.map_reduction == MapReduction::max ? " max" : " mean") << " state=" << c.state_given;
  return text.str();
}

std::vector<WeightsCase> weights_cases() {
  struct Sight {
    bool causal;
    CaseOffset offset;
  };
  struct Size {
    std::int64_t rows, columns;
  };
  std::vector<std::int64_t> lengths = {0, 1, 2, 7, 16, 33, 48, 65, 130, 300};
  if (kSanitized) std::erase_if(lengths, [](std::int64_t length) { return length > 65; });
  const std::vector<std::int64_t> head_sizes = {1, 8, 31, 64}, top = {0, 1, 3, 8, 9, 32, 40};
  const std::vector<Sight> sights = {{false, CaseOffset::top_left},
                                     {true, CaseOffset::top_left},
                                     {true, CaseOffset::bottom_right},
                                     {true, CaseOffset::per_sequence}};
  const std::vector<Window> windows = {{}, {0, 0}, {3, -1}, {40, 20}};
  const std::vector<Size> maps = {{0, 0}, {1, 1}, {7, 5}, {64, 3}, {5, 400}, {301, 299}};
  const std::vector<DType> types = {DType::f32, DType::f32, DType::bf16, DType::f16};
  const auto size = [](const auto& list) { return static_cast<int>(list.size()); };

  std::vector<WeightsCase> cases;
  std::uint64_t seed = 1;
  for (const auto& row : covering_array({size(lengths),
                                         size(lengths),
                                         size(head_sizes),
                                         size(sights),
                                         size(windows),
                                         size(top),
                                         size(maps),
                                         size(types),
                                         5,
                                         5,
                                         4,
                                         3,
                                         2,
                                         2,
                                         2,
                                         2,
                                         2,
                                         2,
                                         2,
                                         2,
                                         2,
                                         2,
                                         2,
                                         2})) {
    std::size_t knob = 0;
    const auto next = [&] { return static_cast<std::size_t>(row[knob++]); };
    WeightsCase c;
    AttentionCase& a = c.attention;
    a.queries = lengths[next()];
    a.keys = lengths[next()];
    a.d = head_sizes[next()];
    a.dv = 1;
    const Sight sight = sights[next()];
    a.causal = sight.causal;
    a.offset = sight.offset;
    const Window window = windows[next()];
    a.window_left = window.left;
    a.window_right = window.right;
    c.request.top_k = top[next()];
    const Size map = maps[next()];
    c.request.map_rows = map.rows;
    c.request.map_columns = map.columns;
    a.dtype = types[next()];
    a.mask = static_cast<CaseMask>(next());
    a.bias = static_cast<CaseBias>(next());
    a.memory = static_cast<CaseMemory>(next());
    a.group = 1 + static_cast<std::int64_t>(next());
    a.key_heads = 1 + static_cast<std::int64_t>(next());
    a.batch = 1 + static_cast<std::int64_t>(next());
    a.key_lengths = next() == 1;
    a.alibi = next() == 1;
    a.softcap = next() == 1;
    a.sinks = next() == 1;
    a.own_scale = next() == 1;
    a.packed = next() == 1;
    c.request.map_reduction = next() == 1 ? MapReduction::max : MapReduction::mean;
    c.request.received = next() == 1;
    c.request.entropy = next() == 1;
    c.state_given = next() == 1;
    a.seed = 100 * seed++;
    cases.push_back(c);
  }
  return cases;
}

WeightsSummary defined_summary(const AttentionInputs& in, const WeightsRequest& request) {
  WeightsSummary result;
  Dims top_shape = in.q.shape();
  top_shape[in.q.rank() - 1] = request.top_k;
  const Dims row_shape = in.q.shape().without(in.q.rank() - 1);
  const std::int64_t heads = in.q.size(1);
  const std::vector<Part> parts = parts_of(in);
  const bool packed = !in.options.cumulative_query_lengths.empty();
  if (request.top_k > 0) {
    result.top_keys = Tensor(DType::i64, top_shape);
    result.top_weights = Tensor(DType::f64, top_shape);
  }
  if (request.entropy) result.entropy = Tensor(DType::f64, row_shape);
  if (request.received) {
    result.received = packed ? Tensor(DType::f64, {in.k.size(0), heads})
                             : Tensor(DType::f64, {in.q.size(0), heads, in.k.size(2)});
  }
  if (request.map_rows > 0) {
    result.map = Tensor(
        DType::f64, {static_cast<std::int64_t>(parts.size()), heads, request.map_rows, request.map_columns});
  }
  for (std::int64_t s = 0; s < static_cast<std::int64_t>(parts.size()); ++s) {
    const Part& part = parts[static_cast<std::size_t>(s)];
    if (part.queries == 0) continue;
    const Tensor biased = matrix(in, s, part, Stage::biased), weights = matrix(in, s, part, Stage::weights);
    for (std::int64_t h = 0; h < heads; ++h) {
      const std::size_t at = static_cast<std::size_t>(h * part.queries * part.keys);
      const double* const b = biased.values<double>().data() + at;
      const double* const w = weights.values<double>().data() + at;
      const auto row_of = [&](auto&& view, std::int64_t i) {
        return weights_sequence_of(view, in, s, part.query_begin, part.queries).select(0, h).select(0, i);
      };
      for (std::int64_t i = 0; i < part.queries; ++i) {
        std::int64_t* const top =
            request.top_k > 0 ? row_of(result.top_keys.view(), i).template data<std::int64_t>() : nullptr;
        double* const top_weights =
            request.top_k > 0 ? row_of(result.top_weights.view(), i).template data<double>() : nullptr;
        double* const entropy =
            request.entropy ? row_of(result.entropy.view(), i).template data<double>() : nullptr;
        define_row(request, b + i * part.keys, w + i * part.keys, part.keys, top, top_weights, entropy);
      }
      for (std::int64_t j = 0; j < part.keys && request.received; ++j) {
        double sum = 0;
        for (std::int64_t i = 0; i < part.queries; ++i) sum += w[i * part.keys + j];
        *weights_sequence_of(result.received.view(), in, s, part.key_begin, part.keys)
             .select(0, h)
             .select(0, j)
             .data<double>() = sum;
      }
      for (std::int64_t r = 0; r < request.map_rows && part.keys > 0; ++r) {
        for (std::int64_t c = 0; c < request.map_columns; ++c) {
          *result.map.view().select(0, s).select(0, h).select(0, r).select(0, c).data<double>() =
              define_cell(request, w, part, r, c);
        }
      }
    }
  }
  return result;
}

void expect_summary(const AttentionInputs& in, const WeightsSummary& got, const WeightsSummary& expected,
                    double bound) {
  expect_close("top_weights", got.top_weights, expected.top_weights, bound);
  expect_close("received", got.received, expected.received, bound);
  expect_close("entropy", got.entropy, expected.entropy, bound);
  expect_close("map", got.map, expected.map, bound);
  ASSERT_EQ(got.top_keys.shape(), expected.top_keys.shape());
  if (got.top_keys.count() == 0) return;

  const std::vector<Part> parts = parts_of(in);
  for (std::int64_t s = 0; s < static_cast<std::int64_t>(parts.size()); ++s) {
    const Part& part = parts[static_cast<std::size_t>(s)];
    if (part.queries == 0) continue;
    const Tensor weights = matrix(in, s, part, Stage::weights);
    for (std::int64_t h = 0; h < in.q.size(1); ++h) {
      for (std::int64_t i = 0; i < part.queries; ++i) {
        const auto row_of = [&](const Tensor& tensor) {
          return values_of(weights_sequence_of(ConstTensorView(tensor), in, s, part.query_begin, part.queries)
                               .select(0, h)
                               .select(0, i));
        };
        std::vector<double> keys = row_of(got.top_keys);
        const std::vector<double> right = row_of(expected.top_keys), its = row_of(expected.top_weights);
        for (std::size_t place = 0; place < keys.size(); ++place) {
          ASSERT_EQ(keys[place] < 0, right[place] < 0) << "row " << i << " place " << place;
          if (keys[place] < 0) continue;
          ASSERT_LT(keys[place], part.keys);
          const double weight = weights.values<double>()[static_cast<std::size_t>(
              (h * part.queries + i) * part.keys + static_cast<std::int64_t>(keys[place]))];
          ASSERT_LE(difference(weight, its[place]), bound) << "row " << i << " place " << place;
        }
        std::erase_if(keys, [](double key) { return key < 0; });
        std::sort(keys.begin(), keys.end());
        ASSERT_TRUE(std::adjacent_find(keys.begin(), keys.end()) == keys.end()) << "a key twice, row " << i;
      }
    }
  }
}

bool same_bits(const WeightsSummary& a, const WeightsSummary& b) {
  return same_bits(a.top_keys, b.top_keys) && same_bits(a.top_weights, b.top_weights) &&
         same_bits(a.received, b.received) && same_bits(a.entropy, b.entropy) && same_bits(a.map, b.map);
}

}  // namespace attend
