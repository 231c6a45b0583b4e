// One measured case, with the fields that all benchmarks share.
#pragma once

#include <attend/dtype.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/statistics.h"

namespace attend::bench {

enum class Direction { forward, backward, decode };
std::string_view name_of(Direction direction) noexcept;  // fwd, bwd, decode

struct Shape {
  std::int64_t b = 1, hq = 1, hkv = 1, lq = 1, lk = 1, d = 1;
};
std::string to_string(
    const Shape& shape);  // "1,12,512,64"; "1,32/8,1/65536,128" where heads or lengths differ

struct ProductSize {  // (m, k) times (k, n)
  std::int64_t m = 1, n = 1, k = 1;
};

// 4 B Hq Lq Lk d forward (two products of 2 each), 2.5 times that backward (five products); half when causal.
double attention_flops(const Shape& shape, Direction direction, bool causal) noexcept;

struct Record {
  std::string bench;  // attention, matmul, ...
  std::string name;   // unique within its benchmark
  DType dtype = DType::f32;
  Direction direction = Direction::forward;
  bool causal = false;
  Shape shape;                         // of a matrix product: lq = m, lk = n, d = k
  std::optional<ProductSize> product;  // of a matrix product only
  int threads = 1;
  std::string device{};  // a GPU's, where there is no measured peak; empty: the host

  Spread seconds;         // of one call
  double flops = 0;       // of one call
  double peak_flops = 0;  // per second, measured alternately with the calls
  double bytes = 0;       // that one call must read; 0 where arithmetic is the limit
  double peak_bytes = 0;  // per second, measured alternately with the calls
  Spread share;           // of the peak that limits it, round by round
  int rounds = 0;         // measurements
  double error = 0;       // the largest difference from float64 that the check found
  std::vector<std::pair<std::string, double>> more;  // specific to this case

  double flops_rate() const { return flops / seconds.median; }
  double bytes_rate() const { return bytes / seconds.median; }
  // Relative to the median peak: of the bandwidth where there is one.
  double share_of_peak() const { return bytes > 0 ? bytes_rate() / peak_bytes : flops_rate() / peak_flops; }
};

}  // namespace attend::bench
