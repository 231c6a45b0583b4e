#include "bench/peak.h"

#include <attend/isa.h>
#include <attend/threads.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <stdexcept>
#include <string>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/peak.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace attend::bench {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// Independent chains of sums. A core with 4 pipes and a latency of 4 needs 16 of them; cores with 16
// registers have 2 pipes, and two registers are in use.
#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM
constexpr int kChains = 24;
#else
constexpr int kChains = 12;
#endif

// Returns the number of floating-point operations. `sink` gets a number that depends on all of them.
HWY_ATTR double multiply_adds(std::int64_t steps, float* sink) {
  const D d;
  // Known only at run time, so that nothing can be computed at compile time.
  const V a = hn::Set(d, *sink + 0.5f), b = hn::Set(d, *sink + 0.25f);
  V chain[kChains];
#pragma GCC unroll 24
  for (int c = 0; c < kChains; ++c) chain[c] = hn::Set(d, static_cast<float>(c));
  for (std::int64_t i = 0; i < steps; ++i) {
#pragma GCC unroll 24
    for (int c = 0; c < kChains; ++c) {
#if HWY_NATIVE_FMA
      chain[c] = hn::MulAdd(a, b, chain[c]);  // in this form no instruction set needs a copy
#else
      chain[c] = hn::Add(hn::Mul(chain[c], a), b);  // a * b would be hoisted out of the loop
#endif
    }
  }
  V sum = chain[0];
#pragma GCC unroll 24
  for (int c = 1; c < kChains; ++c) sum = hn::Add(sum, chain[c]);
  // Stays 0, which the compiler cannot know.
  *sink = hn::GetLane(hn::SumOfLanes(d, sum)) == -1.0f ? 1.0f : 0.0f;
  return 2.0 * static_cast<double>(steps) * kChains * static_cast<double>(hn::Lanes(d));
}

// The sum of `count` floats, a multiple of 4 vectors.
HWY_ATTR float read(const float* HWY_RESTRICT from, std::int64_t count) {
  const D d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  V s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  for (std::int64_t i = 0; i < count; i += 4 * lanes) {
    s0 = hn::Add(s0, hn::Load(d, from + i));
    s1 = hn::Add(s1, hn::Load(d, from + i + lanes));
    s2 = hn::Add(s2, hn::Load(d, from + i + 2 * lanes));
    s3 = hn::Add(s3, hn::Load(d, from + i + 3 * lanes));
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::bench
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "base/parallel.h"

namespace attend::bench {
namespace {

HWY_EXPORT(multiply_adds);
HWY_EXPORT(read);

constexpr std::int64_t kPieces = 16;         // per thread: other threads take what one does not get to
constexpr std::int64_t kSteps = 16384;       // per piece, 0.1 ms
constexpr std::int64_t kReadPiece = 262144;  // floats, 1 MiB
constexpr std::int64_t kLargestBuffer = std::int64_t{2} << 30;

// In bytes, from the kernel; sysconf() of glibc 2.36 multiplies the last level of an AMD processor by cores
// that it does not have.
std::int64_t largest_cache() {
  std::int64_t largest = 0;
  for (int index = 0; index < 8; ++index) {
    std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/size");
    std::int64_t kilobytes = 0;  // "32768K"
    if (file >> kilobytes) largest = std::max(largest, kilobytes * 1024);
  }
  return largest;
}

}  // namespace

double run_multiply_adds() {
  isa();  // heeds ATTEND_ISA
  std::atomic<double> done{0};
  parallel_for(kPieces * threads(), [&](std::int64_t, int) noexcept {
    float sink = 0;
    done.fetch_add(HWY_DYNAMIC_DISPATCH(multiply_adds)(kSteps, &sink), std::memory_order_relaxed);
  });
  return done.load();
}

MemoryReader::MemoryReader(std::int64_t least) {
  const std::int64_t floats = std::max(least, std::min(8 * largest_cache(), kLargestBuffer)) /
                              static_cast<std::int64_t>(sizeof(float));
  const std::int64_t pieces = (floats + kReadPiece - 1) / kReadPiece;
  buffer_ = Tensor(DType::f32, {pieces, kReadPiece});
  // Pages that were never written may all map to one page of zeros.
  for (float& value : buffer_.values<float>()) value = 1;
}

void MemoryReader::run() {
  isa();
  const float* const from = buffer_.view().data<float>();
  std::atomic<bool> wrong{false};
  parallel_for(buffer_.size(0), [&](std::int64_t piece, int) noexcept {
    const float sum = HWY_DYNAMIC_DISPATCH(read)(from + piece * kReadPiece, kReadPiece);
    if (sum != static_cast<float>(kReadPiece)) wrong.store(true, std::memory_order_relaxed);
  });
  if (wrong.load()) throw std::runtime_error("reading memory gave a wrong sum");
}

}  // namespace attend::bench

#endif  // HWY_ONCE
