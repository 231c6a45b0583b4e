// Memory of a GPU: copies of every type, stride and direction give what the host's give.
#include <attend/attention.h>
#include <attend/cache.h>
#include <gtest/gtest.h>

#include <vector>

#include "cuda/on_gpu.h"
#include "support/compare.h"
#include "support/random.h"
#include "support/refuses.h"

namespace attend {
namespace {

const std::vector<DType> kFloats = {DType::f32, DType::f64, DType::bf16, DType::f16};

TEST(GpuMemory, NewTensorsAreZero) {
  ATTEND_NEEDS_GPU();
  for (int turn = 0; turn < 2; ++turn) {  // the second time in memory that was used
    Tensor x(DType::f32, {1000, 33}, kGpu);
    EXPECT_TRUE(same_bits(to_host(x), Tensor(DType::f32, {1000, 33})));
    fill(x, 3);
  }
}

TEST(GpuMemory, CopiesConvertAndFollowStrides) {
  ATTEND_NEEDS_GPU();
  for (const DType from : kFloats) {
    for (const DType to : kFloats) {
      const Tensor here = random_normal({3, 5, 7, 4}, from, 1, 100);
      const Tensor there = to_gpu(here);
      EXPECT_TRUE(same_bits(to_host(there), here));
      Tensor expected(to, {3, 7, 5, 4}), back(to, {3, 7, 5, 4});
      copy(here.view().transposed(1, 2), expected);
      Tensor converted(to, {3, 7, 5, 4}, kGpu);
      copy(there.view().transposed(1, 2), converted);  // on the device
      EXPECT_TRUE(same_bits(to_host(converted), expected)) << name_of(from) << " to " << name_of(to);
      copy(there.view().transposed(1, 2), back);  // to the host
      EXPECT_TRUE(same_bits(back, expected));
      fill(converted, 0);
      copy(here.view().transposed(1, 2), converted);  // from the host
      EXPECT_TRUE(same_bits(to_host(converted), expected));
      Tensor wide(to, {3, 7, 5, 8}, kGpu), wide_here(to, {3, 7, 5, 8});
      fill(wide, 9);
      fill(wide_here, 9);
      copy(here.view().transposed(1, 2), wide.view().slice(3, 2, 6));
      copy(here.view().transposed(1, 2), wide_here.view().slice(3, 2, 6));
      EXPECT_TRUE(same_bits(to_host(wide), wide_here));
    }
  }
  const Tensor coins = random_boolean({9, 4}, 3),
               indices = Tensor::from<std::int64_t>({3}, {1, -5, 1ll << 60});
  EXPECT_TRUE(same_bits(to_host(to_gpu(coins)), coins));
  EXPECT_TRUE(same_bits(to_host(to_gpu(indices)), indices));
}

TEST(GpuMemory, TooMuchIsRefusedAndTheNextCallWorks) {
  ATTEND_NEEDS_GPU();
  try {
    Tensor x(DType::f32, {std::int64_t{1} << 42}, kGpu);
    FAIL() << "16 TiB were had";
  } catch (const std::bad_alloc& error) {
    EXPECT_NE(std::string(error.what()).find("17592186044416 bytes on cuda:0"), std::string::npos)
        << error.what();
  }
  EXPECT_REFUSES(Tensor(DType::f32, {1}, Device{DeviceKind::cuda, 15}), "there is no device cuda:15 here");
  Tensor x(DType::f32, {4}, kGpu);
  fill(x, 2);
  EXPECT_TRUE(same_bits(to_host(x), Tensor::from<float>({4}, {2, 2, 2, 2})));
  const Tensor heads = random_normal({1, 1, 4, 8}, DType::f64, 1), away = to_gpu(heads);
  EXPECT_REFUSES(attention(away, away, away), "[attention] computes f64 on the host only");
  const Tensor here = random_normal({1, 1, 4, 8}, DType::f32, 1);
  EXPECT_REFUSES(attention(to_gpu(here), here, here), "[attention] key is on cpu, but query is on cuda:0");
}

TEST(GpuMemory, StatesMergeAndACacheGrows) {
  ATTEND_NEEDS_GPU();
  const Tensor q = random_normal({2, 3, 4, 8}, DType::f32, 1),
               k = random_normal({2, 3, 10, 8}, DType::f32, 2),
               v = random_normal({2, 3, 10, 8}, DType::f32, 3);
  const Tensor whole = attention(q, k, v);
  const Tensor gq = to_gpu(q), gk = to_gpu(k), gv = to_gpu(v);
  Tensor a = Tensor(DType::f32, q.shape(), kGpu), b = Tensor(DType::f32, q.shape(), kGpu),
         merged = Tensor(DType::f32, q.shape(), kGpu);
  RowState state_a(gq), state_b(gq), state(gq);
  attention(gq, gk.view().slice(2, 0, 3), gv.view().slice(2, 0, 3), {}, a, state_a);
  attention(gq, gk.view().slice(2, 3, 10), gv.view().slice(2, 3, 10), {}, b, state_b);
  merge_attention(a, state_a, b, state_b, merged, state);
  EXPECT_LE(max_abs_difference(to_host(merged), whole), 1e-6);
  KeyValueCache cache(DType::f32, 2, 3, 8, 8, 0, kGpu);
  cache.append(gk.view().slice(2, 0, 6), gv.view().slice(2, 0, 6));
  cache.append(gk.view().slice(2, 6, 10), gv.view().slice(2, 6, 10));
  EXPECT_LE(max_abs_difference(to_host(cache.attention(gq)), whole), 1e-6);
}

}  // namespace
}  // namespace attend
