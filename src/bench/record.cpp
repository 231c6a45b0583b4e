#include "bench/record.h"

namespace attend::bench {
namespace {

std::string one_or_both(std::int64_t a, std::int64_t b) {
  return a == b ? std::to_string(a) : std::to_string(a) + "/" + std::to_string(b);
}

}  // namespace

std::string_view name_of(Direction direction) noexcept {
  switch (direction) {
    case Direction::forward:
      return "fwd";
    case Direction::backward:
      return "bwd";
    case Direction::decode:
      return "decode";
  }
  return "";
}

std::string to_string(const Shape& shape) {
  return std::to_string(shape.b) + "," + one_or_both(shape.hq, shape.hkv) + "," +
         one_or_both(shape.lq, shape.lk) + "," + std::to_string(shape.d);
}

double attention_flops(const Shape& shape, Direction direction, bool causal) noexcept {
  const double products = direction == Direction::backward ? 5 : 2;
  const double scores = static_cast<double>(shape.b * shape.hq) * static_cast<double>(shape.lq * shape.lk);
  return products * 2 * scores * static_cast<double>(shape.d) * (causal ? 0.5 : 1.0);
}

}  // namespace attend::bench
