// The device's rules are the host's.
#include "cuda/visibility.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "kernels/attention/head.h"

namespace attend {
namespace {

TEST(CudaVisibility, QueriesSeeWhatTheySeeOnTheHost) {
  for (const std::int64_t key_count : {0, 1, 9}) {
    for (const std::int64_t offset : {-20, -3, 0, 4, 30}) {
      for (const std::int64_t left : {-1, 0, 2, 50}) {
        for (const std::int64_t right : {-1, 0, 2, 50}) {
          for (const bool causal : {false, true}) {
            const kernels::Visibility host{key_count, offset, causal, left, right};
            const cuda::Visible device{key_count, offset, left, right, causal};
            for (std::int64_t i = 0; i < 12; ++i) {
              EXPECT_EQ(device.keys_of(i).begin, host.keys_of(i).begin);
              EXPECT_EQ(device.keys_of(i).end, host.keys_of(i).end);
            }
          }
        }
      }
    }
  }
}

TEST(CudaVisibility, CoinsFallAsOnTheHost) {
  for (const double probability : {0.0, 1e-12, 0.1, 0.5, 0.999999999}) {
    for (const std::uint64_t seed : {0ull, 7ull, 0xffffffffffffffffull}) {
      for (std::uint64_t sequence = 0; sequence < 3; ++sequence) {
        const DropoutStream host(probability, seed, sequence, 5);
        const cuda::Coins device = cuda::Coins::of(cuda::coin_threshold(probability), seed, sequence, 5);
        EXPECT_EQ(device.threshold, host.threshold());
        for (std::int64_t i = 0; i < 40; ++i) {
          for (std::int64_t j = 0; j < 40; ++j) ASSERT_EQ(device.keeps(i, j), host.keeps(i, j));
        }
      }
    }
  }
}

}  // namespace
}  // namespace attend
