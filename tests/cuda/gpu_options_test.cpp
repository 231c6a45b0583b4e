// Options of attention() on a GPU where its fast kernel has loops of their own: layouts of masks and biases,
// large scores, results of 16 bits.
#include <attend/attention.h>
#include <attend/reference.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "cuda/on_gpu.h"
#include "support/compare.h"
#include "support/random.h"

namespace attend {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Inputs {
  Tensor q, k, v;
  Inputs(const Dims& queries, const Dims& keys, DType dtype, double deviation = 1)
      : q(random_normal(queries, dtype, 1, deviation)),
        k(random_normal(keys, dtype, 2, deviation)),
        v(random_normal(keys, dtype, 3)) {}
  Inputs(const Inputs& other) : q(copy_of(other.q)), k(copy_of(other.k)), v(copy_of(other.v)) {}
};

Tensor on_gpu(const Inputs& in, const AttentionOptions& options, DType dtype = DType::f32) {
  const Tensor q = to_gpu(in.q), k = to_gpu(in.k), v = to_gpu(in.v);
  Tensor out(dtype, in.q.shape(), kGpu);
  attention(q, k, v, options, out);
  return to_host(out);
}
Tensor exact(const Inputs& in, const AttentionOptions& options) {
  Tensor out(DType::f64, in.q.shape());
  reference::attention(in.q, in.k, in.v, options, out);
  return out;
}

Tensor random_mask(const Dims& shape) {
  const Tensor numbers = random_uniform(shape, DType::f32, 9);
  Tensor mask(DType::boolean, shape);
  auto* const bytes = static_cast<std::uint8_t*>(mask.view().raw());
  for (std::size_t i = 0; i < static_cast<std::size_t>(mask.count()); ++i)
    bytes[i] = numbers.values<float>()[i] < 0.6f;
  return mask;
}

// The same numbers with a row of its own between any two, with columns far apart, and backwards: one result,
// and the right one.
TEST(GpuOptions, LayoutsOfMasksAndBiasesChangeNoBit) {
  ATTEND_NEEDS_GPU();
  for (const std::int64_t keys : {1, 97, 200, 333}) {
    for (const std::int64_t d : {64, 128}) {
      const Inputs in({2, 2, 150, d}, {2, 2, keys, d}, DType::bf16);
      for (const Dims& shape :
           {Dims{2, 2, 150, keys}, Dims{150, keys}, Dims{1, keys}, Dims{150, 1}, Dims{2, 1, 1, keys}}) {
        for (const DType number : {DType::boolean, DType::f32, DType::bf16, DType::f16}) {
          const bool is_mask = number == DType::boolean;
          const Tensor plain = is_mask ? random_mask(shape) : random_normal(shape, number, 4);
          AttentionOptions here;
          (is_mask ? here.mask : here.bias) = plain;
          const Tensor expected = exact(in, here);
          Tensor first;
          for (const int layout : {0, 1, 2, 3}) {
            const int rank = shape.rank();
            Dims around = shape;
            around[rank - 1] = shape[rank - 1] * (layout == 2 ? 2 : 1) + (layout == 1 ? 3 : 0);
            Tensor storage(number, around);
            Tensor there;
            ConstTensorView view;
            if (layout == 0) {
              there = to_gpu(plain);
              view = there;
            } else if (layout == 1) {  // rows at odd addresses
              copy(plain, storage.view().slice(rank - 1, 1, 1 + shape[rank - 1]));
              there = to_gpu(storage);
              view = there.view().slice(rank - 1, 1, 1 + shape[rank - 1]);
            } else if (layout == 2) {  // every other column
              Dims strides = row_major_strides(around);
              strides[rank - 1] = 2;
              copy(plain, TensorView(storage.view().raw(), number, shape, strides));
              there = to_gpu(storage);
              view = ConstTensorView(there.view().raw(), number, shape, strides, kGpu);
            } else {  // columns side by side, rows turned
              const Tensor turned = copy_of(plain.view().transposed(rank - 2, rank - 1));
              there = to_gpu(turned);
              view = there.view().transposed(rank - 2, rank - 1);
            }
            AttentionOptions options;
            (is_mask ? options.mask : options.bias) = view;
            const Tensor found = on_gpu(in, options);
            const std::string what = std::string(name_of(number)) + " keys " + std::to_string(keys) +
                                     " rank " + std::to_string(rank) + " layout " + std::to_string(layout);
            ASSERT_LE(max_abs_difference(found, expected), 0.02) << what;
            if (layout == 0) first = copy_of(found);
            ASSERT_TRUE(same_bits(found, first)) << what;
          }
        }
      }
    }
  }
}

// Options side by side go through the loop that knows all of them, alone through their own: both are right.
TEST(GpuOptions, AloneAndTogetherTheyAreExact) {
  ATTEND_NEEDS_GPU();
  const Inputs in({1, 4, 300, 128}, {1, 2, 410, 128}, DType::f16);
  const Tensor mask = random_mask({300, 410}), bias = random_normal({4, 300, 410}, DType::f32, 8);
  const Tensor mask_there = to_gpu(mask), bias_there = to_gpu(bias);
  for (int chosen = 0; chosen < 64; ++chosen) {
    AttentionOptions here;
    here.causal = (chosen & 1) != 0;
    here.query_offset = 110;
    if (chosen & 2) here.softcap = 1.5;
    if (chosen & 4)
      here.alibi_slopes =
          chosen & 32 ? std::vector<double>{0.5, 0.1, 0, 1} : std::vector<double>{-0.01, 0, 0.1, 2};
    if (chosen & 8) here.mask = mask;
    if (chosen & 16) here.bias = bias;
    if (chosen & 32) here.window = {200, here.causal ? -1 : 90};
    AttentionOptions there = here;
    if (chosen & 8) there.mask = mask_there;
    if (chosen & 16) there.bias = bias_there;
    EXPECT_LE(max_abs_difference(on_gpu(in, there), exact(in, here)), 4e-3) << chosen;
  }
}

// Tiles of keys before, beside and after their queries, with slopes that are added in two ways (forward.cuh).
TEST(GpuOptions, SlopesAreExactOnBothSidesOfTheQueries) {
  ATTEND_NEEDS_GPU();
  for (const std::int64_t d : {64, 128}) {
    const Inputs in({1, 6, 300, d}, {1, 2, 900, d}, DType::bf16);
    for (const std::int64_t offset : {0, 331, 600}) {
      AttentionOptions options;
      options.query_offset = offset;
      options.alibi_slopes = {0, 0.004, 0.1, 1.99, 2.01, 300};
      EXPECT_LE(max_abs_difference(on_gpu(in, options), exact(in, options)), 0.02) << d << " " << offset;
    }
  }
}

// A cap that most scores are far below, some at, and some far above, in every row of a warp or in one.
TEST(GpuOptions, ACapIsExactAtAnySizeOfScoresAndRowsStayTheirOwn) {
  ATTEND_NEEDS_GPU();
  for (const std::int64_t d : {64, 128}) {
    for (const double cap : {0.01, 0.9, 5.0, 300.0}) {
      const Inputs in({1, 1, 200, d}, {1, 1, 200, d}, DType::bf16);
      AttentionOptions options;
      options.softcap = cap;
      const Tensor found = on_gpu(in, options);
      EXPECT_LE(max_abs_difference(found, exact(in, options)), 0.02) << cap;
      Inputs one(in);
      const Tensor large = random_normal({1, 1, 1, d}, DType::bf16, 5, 1000);
      copy(large, one.q.view().slice(2, 77, 78));
      const Tensor beside = on_gpu(one, options);
      EXPECT_LE(max_abs_difference(beside, exact(one, options)), 0.02) << cap;
      EXPECT_TRUE(same_bits(beside.view().slice(2, 0, 77), found.view().slice(2, 0, 77))) << cap;
      EXPECT_TRUE(same_bits(beside.view().slice(2, 78, 200), found.view().slice(2, 78, 200))) << cap;
    }
  }
}

// Scores up to 1e38: the largest takes all, whoever its neighbours are.
TEST(GpuOptions, EnormousScoresAreExactAndRowsStayTheirOwn) {
  ATTEND_NEEDS_GPU();
  for (const std::int64_t d : {64, 128, 192, 256}) {
    const Inputs plain({1, 1, 260, d}, {1, 1, 260, d}, DType::bf16);
    const Tensor usual = on_gpu(plain, {});
    for (const double size : {1e4, 1e9, 1e12, 1e36}) {
      Inputs in(plain);
      copy(random_normal({1, 1, 1, d}, DType::bf16, 5, size), in.q.view().slice(2, 130, 131));
      const Tensor found = on_gpu(in, {});
      const Tensor expected = exact(in, {});
      EXPECT_LE(max_abs_difference(found, expected), 0.02) << d << " " << size;
      EXPECT_TRUE(same_bits(found.view().slice(2, 0, 130), usual.view().slice(2, 0, 130))) << size;
      EXPECT_TRUE(same_bits(found.view().slice(2, 131, 260), usual.view().slice(2, 131, 260))) << size;
    }
  }
  // A bias that stands for "not": where it is all that a row has, its keys take part alike.
  const Inputs in({1, 1, 100, 64}, {1, 1, 150, 64}, DType::bf16);
  Tensor bias(DType::f32, {100, 150});
  fill(bias.view().slice(1, 70, 150), -3.0e38);
  fill(bias.view().slice(0, 40, 60), -3.0e38);
  const Tensor there = to_gpu(bias);
  const Tensor found = on_gpu(in, {.bias = there});
  const Tensor expected = exact(in, {.bias = bias});
  EXPECT_LE(max_abs_difference(found, expected), 0.02);
}

// A hidden value that is no number, in tiles with and without others, first and last.
TEST(GpuOptions, StrangeValuesAreFoundWhereverTheyAre) {
  ATTEND_NEEDS_GPU();
  for (const std::int64_t d : {64, 128, 256}) {
    const std::int64_t length = 700;
    const Inputs plain({1, 2, length, d}, {1, 2, length, d}, DType::bf16);
    AttentionOptions options;
    options.causal = true;
    const Tensor expected = on_gpu(plain, options);
    for (const std::int64_t key : {5, 127, 128, 300, 511, 640, 699}) {
      Inputs in(plain);
      for (const std::int64_t column : {std::int64_t{0}, d - 1})
        fill(in.v.view().slice(2, key, key + 1).slice(3, column, column + 1), kInfinity);
      const Tensor found = on_gpu(in, options);
      EXPECT_TRUE(same_bits(found.view().slice(2, 0, key), expected.view().slice(2, 0, key)))
          << d << " " << key;
      const ConstTensorView later = found.view().slice(2, key, length);
      for (const double value : values_of(later.slice(3, 0, 1)))
        ASSERT_EQ(value, kInfinity) << d << " " << key;
      EXPECT_TRUE(
          same_bits(later.slice(3, 1, d - 1), expected.view().slice(2, key, length).slice(3, 1, d - 1)));
    }
  }
}

// Results of 16 bits are those of f32, rounded; at any width of the store.
TEST(GpuOptions, ResultsOf16BitsAreRoundedOnce) {
  ATTEND_NEEDS_GPU();
  for (const DType dtype : {DType::bf16, DType::f16}) {
    for (const std::int64_t d : {3, 6, 8, 40, 64, 72, 128, 192, 250, 256}) {
      const Inputs in({1, 2, 150, d}, {1, 2, 170, d}, dtype);
      const Tensor wide = on_gpu(in, {}), narrow = on_gpu(in, {}, dtype);
      EXPECT_TRUE(same_bits(narrow, copy_of(wide, dtype))) << name_of(dtype) << d;
    }
  }
}

}  // namespace
}  // namespace attend
