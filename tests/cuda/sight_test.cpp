#include "cuda/sight.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

// Against every query's own span of keys.
TEST(CudaSight, QueriesThatSeeAnyOfSomeKeys) {
  constexpr std::int64_t kQueries = 9, kKeys = 11;
  for (std::int64_t offset = -6; offset <= 6; ++offset) {
    for (const bool causal : {false, true}) {
      for (const std::int64_t left : {-1, 0, 2, 20}) {
        for (const std::int64_t right : {-1, 0, 3, 20}) {
          for (const std::int64_t count : {std::int64_t{0}, std::int64_t{5}, kKeys}) {
            const cuda::Visible visible{count, offset, left, right, causal};
            for (std::int64_t begin = 0; begin < kKeys; ++begin) {
              for (std::int64_t end = begin + 1; end <= kKeys; ++end) {
                const cuda::QuerySpan found = cuda::queries_of(visible, begin, end, kQueries);
                for (std::int64_t i = 0; i < kQueries; ++i) {
                  const cuda::KeySpan keys = visible.keys_of(i);
                  const bool sees = std::max(keys.begin, begin) < std::min(keys.end, end);
                  ASSERT_EQ(i >= found.begin && i < found.end, sees)
                      << offset << causal << left << right << count << begin << end << i;
                }
              }
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace attend
