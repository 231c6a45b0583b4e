#include "attention/grid.h"

#include <attend/reference.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/compare.h"
#include "support/emulated.h"
#include "support/sanitized.h"

namespace attend {
namespace {

const std::vector<std::int64_t> kLengths = {0,  1,  2,  3,   7,   8,   15,  16,  17,   31,  33,
                                            63, 64, 65, 127, 129, 255, 511, 513, 1000, 4096};
const std::vector<std::int64_t> kHeadSizes = {1, 3, 8, 16, 31, 32, 64, 80, 96, 128, 256, 257};

struct Sight {
  bool causal;
  CaseOffset offset;
};
const std::vector<Sight> kSights = {{false, CaseOffset::top_left},    {true, CaseOffset::top_left},
                                    {true, CaseOffset::bottom_right}, {true, CaseOffset::one},
                                    {true, CaseOffset::per_sequence}, {false, CaseOffset::bottom_right}};
struct Numbers {
  DType dtype;
  std::optional<Precision> precision;
};
const std::vector<Numbers> kNumbers = {{DType::f32, {}},
                                       {DType::bf16, {}},
                                       {DType::f16, {}},
                                       {DType::f32, Precision::bf16},
                                       {DType::f16, Precision::bf16},
                                       {DType::bf16, Precision::f32}};
const std::vector<Window> kWindows = {{}, {0, 0}, {3, -1}, {-1, 2}, {100, 40}};

std::vector<std::int64_t> lengths() {
  std::vector<std::int64_t> result = kLengths;
  std::erase_if(result, [](std::int64_t length) { return length > longest_of_grid(); });
  return result;
}

// Every row when there are few, else some from the beginning, the end and between. Under a sanitizer few are
// enough: it watches how all of them are computed, whatever is compared.
std::vector<std::int64_t> sampled(std::int64_t queries, std::int64_t keys) {
  std::vector<std::int64_t> rows;
  const std::int64_t step =
      queries * keys <= (kSanitized ? 300 : 20'000) ? 1 : std::max<std::int64_t>(queries / 5, 1);
  for (std::int64_t i = 0; i < queries; i += step) rows.push_back(i);
  if (!rows.empty() && rows.back() != queries - 1) rows.push_back(queries - 1);
  return rows;
}

// (H, L, last) of one sequence, or (H, L) of a row state.
template <class View>
View sequence_of(View view, const AttentionInputs& in, std::int64_t s,
                 const std::vector<std::int64_t>& cumulative) {
  if (in.options.cumulative_query_lengths.empty()) return view.select(0, s);
  const auto i = static_cast<std::size_t>(s);
  return view.slice(0, cumulative[i], cumulative[i + 1]).transposed(0, 1);
}

}  // namespace

std::int64_t longest_of_grid() { return kSanitized || kEmulated ? 129 : kLengths.back(); }

// The knobs in one order, so that a row of the covering array can be read as a case.
std::vector<int> grid_knob_sizes() {
  const auto size = [](const auto& list) { return static_cast<int>(list.size()); };
  return {size(lengths()), size(lengths()), size(kHeadSizes),  size(kSights), size(kWindows),
          5 /*mask*/,      5 /*bias*/,      4 /*memory*/,      4 /*dv*/,      3 /*group*/,
          3 /*key heads*/, 3 /*batch*/,     2 /*key lengths*/, 2 /*alibi*/,   2 /*softcap*/,
          2 /*sinks*/,     2 /*scale*/,     2 /*packed*/,      size(kNumbers)};
}

AttentionCase grid_case(const std::vector<int>& row) {
  const auto pick = [&](int knob) { return static_cast<std::size_t>(row[static_cast<std::size_t>(knob)]); };
  AttentionCase c;
  c.queries = lengths()[pick(0)];
  c.keys = lengths()[pick(1)];
  c.d = kHeadSizes[pick(2)];
  c.causal = kSights[pick(3)].causal;
  c.offset = kSights[pick(3)].offset;
  c.window_left = kWindows[pick(4)].left;
  c.window_right = kWindows[pick(4)].right;
  c.mask = static_cast<CaseMask>(pick(5));
  c.bias = static_cast<CaseBias>(pick(6));
  c.memory = static_cast<CaseMemory>(pick(7));
  c.dv = std::vector<std::int64_t>{c.d, 1, 8, 65}[pick(8)];
  c.group = std::vector<std::int64_t>{1, 2, 4}[pick(9)];
  c.key_heads = 1 + static_cast<std::int64_t>(pick(10));
  c.batch = 1 + static_cast<std::int64_t>(pick(11));
  c.key_lengths = pick(12) == 1;
  c.alibi = pick(13) == 1;
  c.softcap = pick(14) == 1;
  c.sinks = pick(15) == 1;
  c.own_scale = pick(16) == 1;
  c.packed = pick(17) == 1;
  c.dtype = kNumbers[pick(18)].dtype;
  c.precision = kNumbers[pick(18)].precision;
  if (c.queries * c.keys > 300'000) c.batch = c.key_heads = 1;  // long ones: the shape matters, not how often
  if (c.queries * c.keys > 3'000'000) c.group = 1;
  return c;
}

void expect_exact(const AttentionCase& c, double near) {
  const AttentionInputs in = make_inputs(c);
  Tensor out = in.output(DType::f32);
  RowState state(in.q);
  attention(in.q, in.k, in.v, in.options, out, state);
  Tensor lse(DType::f32, state.max.shape());
  log_sum_exp(state, lse);
  const bool rounds = attention_kernel(in.q, in.k, in.options).name.ends_with("bf16");
  expect_exact_output(c, in, out, lse, near, rounds ? kBf16Weights : WeightRounding{});
}

void expect_exact_output(const AttentionCase& c, const AttentionInputs& in, ConstTensorView out,
                         ConstTensorView lse, double near, WeightRounding rounding) {
  for (std::int64_t s = 0; s < c.batch; ++s) {
    const ConstTensorView o = sequence_of(out, in, s, in.options.cumulative_query_lengths);
    const ConstTensorView l = sequence_of(lse, in, s, in.options.cumulative_query_lengths);
    const ConstTensorView v = sequence_of(in.v, in, s, in.options.cumulative_key_lengths);
    const std::vector<std::int64_t> rows = sampled(o.size(1), v.size(1));
    if (rows.empty()) continue;
    const RowSelection selection{{s}, {}, rows};
    const Tensor weights = reference::attention_rows(in.q, in.k, in.options, Stage::weights, selection);
    const Tensor biased = reference::attention_rows(in.q, in.k, in.options, Stage::biased, selection);
    const auto longest = static_cast<std::size_t>(weights.size(3));
    for (std::int64_t h = 0; h < c.query_heads(); ++h) {
      const std::vector<double> values = values_of(v.select(0, h / c.group));
      for (std::size_t r = 0; r < rows.size(); ++r) {
        const std::size_t row = static_cast<std::size_t>(h) * rows.size() + r;
        const auto w = weights.values<double>().subspan(row * longest, longest);
        const auto b = biased.values<double>().subspan(row * longest, longest);
        std::vector<double> expected(static_cast<std::size_t>(c.dv), 0), rounded(expected);
        double bound = kGridBound;
        for (const double score : b) {
          if (std::isfinite(score)) bound = std::max(bound, kGridBound * std::abs(score) / near);
        }
        double sum = c.sinks ? std::exp(in.options.sinks[static_cast<std::size_t>(h)]) : 0;
        for (std::int64_t j = 0; j < v.size(1); ++j) {
          sum += std::exp(b[static_cast<std::size_t>(j)]);
          for (std::size_t x = 0; x < expected.size(); ++x) {
            const double weight = w[static_cast<std::size_t>(j)];
            const double value = values[static_cast<std::size_t>(j) * expected.size() + x];
            expected[x] += weight * value;
            rounded[x] += std::abs(value) * (weight * rounding.relative + (weight != 0 ? rounding.least : 0));
          }
        }
        const std::vector<double> got = values_of(o.select(0, h).select(0, rows[r]));
        for (std::size_t x = 0; x < expected.size(); ++x) {
          ASSERT_LE(difference(got[x], expected[x]), bound + rounded[x])
              << describe(c) << " row " << rows[r] << " head " << h;
        }
        const float got_lse = l.data<float>()[h * l.stride(0) + rows[r] * l.stride(1)];
        const double true_lse = std::log(sum);  // may be large, where the bound is meant for values near 1
        ASSERT_LE(difference(got_lse, true_lse), kGridBound * std::max(1.0, std::abs(true_lse)))
            << describe(c) << " row " << rows[r];
      }
    }
  }
}

}  // namespace attend
