// The backward pass on a GPU against float64: the host's grid, the seams of the fast path's tiles, and what
// the host promises of its gradients.
#include <attend/attention_backward.h>
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <limits>

#include "attention/backward_grid.h"
#include "cuda/gpu_gradients.h"
#include "support/covering_array.h"
#include "support/not_finite.h"

namespace attend {
namespace {

TEST(GpuBackward, EveryPairOfShapesAndOptionsIsExact) {
  ATTEND_NEEDS_GPU();
  double worst = 0;
  std::uint64_t seed = 1;
  int tested = 0, failed = 0;
  for (const auto& row : covering_array(backward_knob_sizes())) {
    AttentionCase c = backward_case(row);
    c.seed = 100 * seed++;
    const AttentionInputs in = make_inputs(c);
    const Tensor d_out = random_d_out(in, DType::f32, c.seed);
    std::string where;
    const double error = largest_error(gpu_gradients(in, d_out), reference_gradients(in, d_out), where);
    worst = std::max(worst, error);
    ++tested;
    EXPECT_LE(error, kBackwardBound) << where << ": " << describe(c);
    if (HasFailure() && ++failed == 12) break;
  }
  std::cout << tested << " cases, largest error " << worst << "\n";
}

// The largest error of any row, relative to the row's own size; `near` is what a row of nothing counts as.
double row_error(ConstTensorView got, ConstTensorView expected, double near) {
  const std::vector<double> a = values_of(got), b = values_of(expected);
  const auto width = static_cast<std::size_t>(expected.size(expected.rank() - 1));
  double largest = 0;
  for (std::size_t row = 0; row < a.size(); row += width) {
    double apart = 0, size = 0;
    for (std::size_t x = row; x < row + width; ++x) {
      apart += (a[x] - b[x]) * (a[x] - b[x]);
      size += b[x] * b[x];
    }
    const double error = std::sqrt(apart) / (std::sqrt(size) + near * std::sqrt(static_cast<double>(width)));
    if (!(error <= largest)) largest = error;  // NaN, too
  }
  return largest;
}

// Weights and the gradients of scores are rounded to 16 bits before their products: a row's error is that of
// many roundings, each of them 2^-9 (2^-12 in f16) of its term at most.
void expect_close_rows(const AttentionCase& c, const AttentionInputs& in, const Tensor& d_out,
                       ForwardOn forward, double& worst) {
  const GradientSet got = gpu_gradients(in, d_out, DType::f32, forward),
                    expected = reference_gradients(in, d_out);
  const double bound = (c.dtype == DType::bf16 ? 0.012 : 0.002) * (forward == ForwardOn::gpu ? 3 : 1);
  const double near = forward == ForwardOn::gpu ? 5e-3 : 1e-3;
  const std::pair<const char*, double> errors[] = {{"d_q", row_error(got.q, expected.q, near)},
                                                   {"d_k", row_error(got.k, expected.k, near)},
                                                   {"d_v", row_error(got.v, expected.v, near)}};
  for (const auto& [name, error] : errors) {
    worst = std::max(worst, error / bound);
    EXPECT_LE(error, bound) << name << ": " << describe(c);
  }
  if (c.sinks) {
    EXPECT_LE(max_abs_difference(got.sinks, expected.sinks), 0.01 * static_cast<double>(c.queries));
  }
}

TEST(GpuBackward, TheSeamsOfTiles) {
  ATTEND_NEEDS_GPU();
  std::uint64_t seed = 7;
  double worst = 0;
  int failed = 0;
  for (const std::int64_t d : {8, 40, 64, 96, 128}) {
    for (const std::int64_t length :
         {1, 2, 63, 64, 65, 95, 97, 127, 128, 129, 191, 193, 256, 257, 384, 500}) {
      for (const DType dtype : {DType::bf16, DType::f16}) {
        AttentionCase c;
        c.batch = 2;
        c.key_heads = 2;
        c.group = length < 300 ? 2 : 1;
        c.queries = length;
        c.keys = seed % 3 == 0 ? length : (length * 5) % 451 + 1;
        c.d = c.dv = d;
        if (seed % 17 == 0) c.dv = d / 2;
        c.dtype = dtype;
        c.causal = seed % 2 == 0;
        c.offset = seed % 5 == 0 ? CaseOffset::bottom_right : CaseOffset::top_left;
        c.window_left = seed % 7 == 0 ? 70 : -1;
        c.window_right = seed % 9 == 0 ? 30 : -1;
        c.key_lengths = seed % 4 == 0;
        c.sinks = seed % 11 == 0;
        c.packed = seed % 13 == 0;
        c.own_scale = seed % 6 == 0;
        c.memory = static_cast<CaseMemory>(seed % 8 == 0 ? seed / 8 % 4 : 0);
        c.seed = 1000 + seed++;
        const AttentionInputs in = make_inputs(c);
        expect_close_rows(c, in, random_d_out(in, dtype, c.seed), ForwardOn::host, worst);
        if (HasFailure() && ++failed == 12) return;
      }
    }
  }
  std::cout << "largest error " << worst << " of the bound\n";
}

TEST(GpuBackward, AfterTheForwardPassOfTheGpu) {
  ATTEND_NEEDS_GPU();
  double worst = 0;
  for (const std::int64_t d : {64, 128}) {
    for (const DType dtype : {DType::bf16, DType::f16}) {
      for (const bool causal : {false, true}) {
        AttentionCase c;
        c.key_heads = 2;
        c.group = 2;
        c.queries = c.keys = 600;
        c.d = c.dv = d;
        c.dtype = dtype;
        c.causal = causal;
        const AttentionInputs in = make_inputs(c);
        expect_close_rows(c, in, random_d_out(in, dtype, 1), ForwardOn::gpu, worst);
      }
    }
  }
  std::cout << "largest error " << worst << " of the bound\n";
}

const std::vector<DType> kGradientTypes = {DType::f32, DType::bf16, DType::f16};

AttentionCase long_case(DType dtype, std::int64_t d) {
  AttentionCase c;
  c.batch = 3;
  c.key_heads = 2;
  c.group = 2;
  c.queries = 300;
  c.keys = 421;
  c.d = c.dv = d;
  c.dtype = dtype;
  return c;
}

TEST(GpuBackward, TheSameBitsEveryTimeAndInAnyBatch) {
  ATTEND_NEEDS_GPU();
  for (const DType dtype : kGradientTypes) {
    for (const std::int64_t d : {64, 128}) {
      for (const bool causal : {false, true}) {
        AttentionCase c = long_case(dtype, d);
        c.causal = causal;
        c.offset = CaseOffset::bottom_right;
        c.window_left = causal ? 200 : -1;
        const AttentionInputs in = make_inputs(c);
        const Tensor d_out = random_d_out(in, dtype, c.seed);
        const GradientSet all = gpu_gradients(in, d_out);
        for (int again = 0; again < 3; ++again) EXPECT_TRUE(same_gradients(gpu_gradients(in, d_out), all));
        // One sequence and one group of heads alone.
        AttentionInputs one;
        one.options = in.options;
        const auto part = [](const Tensor& tensor, std::int64_t from, std::int64_t to) {
          return copy_of(tensor.view().slice(0, 1, 2).slice(1, from, to));
        };
        one.q = one.q_storage = part(in.q_storage, 2, 4);
        one.k = one.k_storage = part(in.k_storage, 1, 2);
        one.v = one.v_storage = part(in.v_storage, 1, 2);
        const GradientSet alone = gpu_gradients(one, part(d_out, 2, 4));
        EXPECT_TRUE(same_bits(alone.q, part(all.q, 2, 4))) << name_of(dtype) << " " << d;
        EXPECT_TRUE(same_bits(alone.k, part(all.k, 1, 2))) << name_of(dtype) << " " << d;
        EXPECT_TRUE(same_bits(alone.v, part(all.v, 1, 2))) << name_of(dtype) << " " << d;
      }
    }
  }
}

// More blocks than a GPU runs at a time, which wait for each other: their order decides, and not which is
// quick.
TEST(GpuBackward, TheSameBitsWhereManyBlocksAddToOneSum) {
  ATTEND_NEEDS_GPU();
  for (const std::int64_t d : {64, 128}) {
    for (const bool causal : {false, true}) {
      AttentionCase c;
      c.key_heads = 6;
      c.group = 2;
      c.queries = 1900;
      c.keys = 3500;
      c.d = c.dv = d;
      c.dtype = DType::bf16;
      c.causal = causal;
      c.offset = CaseOffset::bottom_right;
      const AttentionInputs in = make_inputs(c);
      const Tensor d_out = random_d_out(in, DType::bf16, 1);
      const GradientSet first = gpu_gradients(in, d_out, DType::bf16, ForwardOn::gpu);
      for (int again = 0; again < 3; ++again) {
        const GradientSet other = gpu_gradients(in, d_out, DType::bf16, ForwardOn::gpu);
        EXPECT_TRUE(same_bits(other.q, first.q) && same_bits(other.k, first.k) && same_bits(other.v, first.v))
            << d << " " << causal;
      }
    }
  }
}

TEST(GpuBackward, GradientsAreRoundedToTheTypeOfTheirView) {
  ATTEND_NEEDS_GPU();
  for (const DType dtype : {DType::bf16, DType::f16}) {
    const AttentionCase c = long_case(dtype, 64);
    const AttentionInputs in = make_inputs(c);
    const Tensor d_out = random_d_out(in, dtype, 1);
    const GradientSet wide = gpu_gradients(in, d_out), narrow = gpu_gradients(in, d_out, dtype);
    EXPECT_TRUE(same_bits(narrow.q, copy_of(wide.q, dtype)));
    EXPECT_TRUE(same_bits(narrow.k, copy_of(wide.k, dtype)));
    EXPECT_TRUE(same_bits(narrow.v, copy_of(wide.v, dtype)));
  }
}

TEST(GpuBackward, ARowWithoutKeysHasGradientZero) {
  ATTEND_NEEDS_GPU();
  for (const DType dtype : kGradientTypes) {
    for (const bool options : {false, true}) {
      AttentionCase c;
      c.queries = c.keys = 200;
      c.d = c.dv = 64;
      c.dtype = dtype;
      c.sinks = true;
      if (options) {
        c.alibi = true;
        c.bias = CaseBias::full;
      }
      AttentionInputs in = make_inputs(c);
      in.options.key_lengths = {0};
      const GradientSet set = gpu_gradients(in, random_d_out(in, dtype, 1));
      for (const Tensor* tensor : {&set.q, &set.k, &set.v, &set.bias, &set.slopes, &set.sinks}) {
        for (const double value : values_of(*tensor)) ASSERT_EQ(value, 0) << name_of(dtype);
      }
    }
  }
}

// One element of q, k, v or d_out becomes NaN: gradients that have nothing to do with it keep their bits, and
// those that have become NaN as float64's do.
TEST(GpuBackward, NanAppearsWhereTheReferenceHasIt) {
  ATTEND_NEEDS_GPU();
  for (const DType dtype : kGradientTypes) {
    for (const int hidden_by : {0, 1, 2}) {  // causal, key lengths, packed
      AttentionCase c;
      c.batch = 2;
      c.queries = c.keys = 280;
      c.d = c.dv = 64;
      c.dtype = dtype;
      c.causal = hidden_by == 0;
      c.packed = hidden_by == 2;
      AttentionInputs in = make_inputs(c);
      if (hidden_by == 1) in.options.key_lengths = {150, 280};
      Tensor d_out = random_d_out(in, dtype, 1);
      const GradientSet plain = gpu_gradients(in, d_out);
      Tensor* const tensors[] = {&in.q_storage, &in.k_storage, &in.v_storage, &d_out};
      for (int which = 0; which < 4; ++which) {
        const Tensor before = copy_of(*tensors[which]);
        Tensor wide = copy_of(before, DType::f64);
        wide.values<double>()[170 * 64 + 5] = kNan;
        copy(wide, *tensors[which]);
        const GradientSet got = gpu_gradients(in, d_out), expected = reference_gradients(in, d_out);
        const std::tuple<const char*, const Tensor*, const Tensor*, const Tensor*> pairs[] = {
            {"d_q", &got.q, &expected.q, &plain.q},
            {"d_k", &got.k, &expected.k, &plain.k},
            {"d_v", &got.v, &expected.v, &plain.v}};
        for (const auto& [name, found, wanted, without] : pairs) {
          const std::vector<double> a = values_of(*found), b = values_of(*wanted), d = values_of(*without);
          std::size_t wrong = 0, changed = 0, first = a.size();
          for (std::size_t x = 0; x < a.size(); ++x) {
            wrong += std::isnan(a[x]) != std::isnan(b[x]) ? 1u : 0u;
            changed += !std::isnan(a[x]) && a[x] != d[x] ? 1u : 0u;
            if (std::isnan(a[x]) != std::isnan(b[x])) first = std::min(first, x);
          }
          EXPECT_EQ(wrong, 0u) << name << " of NaN in " << which << ", hidden by " << hidden_by << ", "
                               << name_of(dtype) << ", first at row " << first / 64 << " column "
                               << first % 64;
          EXPECT_EQ(changed, 0u) << name << " of NaN in " << which << ", hidden by " << hidden_by << ", "
                                 << name_of(dtype);
        }
        copy(before, *tensors[which]);
      }
    }
  }
}

TEST(GpuBackward, EnormousScoresStayFinite) {
  ATTEND_NEEDS_GPU();
  for (const DType dtype : kGradientTypes) {
    for (const double size : {1e2, 1e4, 1e16}) {
      if (dtype == DType::f16 && size > 1e3) continue;
      AttentionCase c;
      c.queries = c.keys = 200;
      c.d = c.dv = 64;
      c.dtype = dtype;
      AttentionInputs in = make_inputs(c);
      in.q_storage = random_normal(in.q.shape(), dtype, 1, size);
      in.k_storage = random_normal(in.k.shape(), dtype, 2, size);
      in.q = in.q_storage;
      in.k = in.k_storage;
      in.options.scale = 1e-2;
      for (const ForwardOn forward : {ForwardOn::host, ForwardOn::gpu}) {
        const GradientSet set = gpu_gradients(in, random_d_out(in, dtype, 1), DType::f32, forward);
        for (const Tensor* tensor : {&set.q, &set.k, &set.v}) {
          for (const double value : values_of(*tensor))
            ASSERT_TRUE(std::isfinite(value)) << size << name_of(dtype);
        }
      }
    }
  }
}

TEST(GpuBackward, OnlyWhatIsWantedIsWritten) {
  ATTEND_NEEDS_GPU();
  for (const bool options : {false, true}) {
    AttentionCase c;
    c.dtype = DType::bf16;
    c.queries = c.keys = 150;
    c.d = c.dv = 64;
    c.sinks = true;
    if (options) {
      c.bias = CaseBias::matrix;
      c.alibi = true;
    }
    const AttentionInputs in = make_inputs(c);
    const GpuInputs there(in);
    const Tensor d_out = to_gpu(random_d_out(in, DType::bf16, 1));
    Tensor out = there.output(DType::f32);
    RowState state(there.q);
    attention(there.q, there.k, there.v, there.options, out, state);
    const auto run = [&](const AttentionGradients& gradients) {
      attention_backward(there.q, there.k, there.v, there.options, out, state, d_out, gradients);
    };
    GradientSet shapes(in, DType::f32, DType::f32);
    Tensor q = to_gpu(shapes.q), k = to_gpu(shapes.k), v = to_gpu(shapes.v), sinks = to_gpu(shapes.sinks);
    Tensor bias, slopes;
    AttentionGradients all{.q = q, .k = k, .v = v, .sinks = sinks};
    if (options) {
      bias = to_gpu(shapes.bias);
      slopes = to_gpu(shapes.slopes);
      all.bias = bias;
      all.alibi_slopes = slopes;
    }
    run(all);
    const auto alone = [&](TensorView AttentionGradients::*which) {
      Tensor one(DType::f32, (all.*which).shape(), kGpu);
      AttentionGradients gradients;
      gradients.*which = one;
      run(gradients);
      return same_bits(to_host(one), to_host(all.*which));
    };
    EXPECT_TRUE(alone(&AttentionGradients::q));
    EXPECT_TRUE(alone(&AttentionGradients::k));
    EXPECT_TRUE(alone(&AttentionGradients::v));
    EXPECT_TRUE(alone(&AttentionGradients::sinks));
    if (options) {
      EXPECT_TRUE(alone(&AttentionGradients::bias));
      EXPECT_TRUE(alone(&AttentionGradients::alibi_slopes));
    }
  }
}

TEST(GpuBackward, FloatsOf64BitsAreRefused) {
  ATTEND_NEEDS_GPU();
  AttentionCase c;
  c.dtype = DType::f64;
  const AttentionInputs in = make_inputs(c);
  const GpuInputs there(in);
  Tensor out = there.output(DType::f64);
  RowState state(there.q);
  Tensor d_q(DType::f64, there.q.shape(), kGpu);
  EXPECT_THROW(attention_backward(there.q, there.k, there.v, there.options, out, state, out, {.q = d_q}),
               std::invalid_argument);
}

}  // namespace
}  // namespace attend
