#include "bench/cases.h"

namespace attend::bench {
namespace {

Shape square(std::int64_t b, std::int64_t h, std::int64_t n, std::int64_t d) { return {b, h, h, n, n, d}; }

const std::vector<Shape>& short_shapes() {
  static const std::vector<Shape> shapes = {square(1, 12, 128, 32),  // MiniLM
                                            square(1, 12, 128, 64), square(1, 12, 512, 64),
                                            square(1, 8, 1024, 64)};
  return shapes;
}

const std::vector<Shape>& long_shapes() {
  static const std::vector<Shape> shapes = {
      square(8, 12, 128, 64),  square(1, 8, 2048, 64),     square(1, 8, 4096, 64), square(1, 8, 4096, 128),
      square(1, 4, 16384, 64), square(1, 8, 512, 80),      square(1, 8, 512, 96),  square(1, 8, 512, 128),
      square(1, 8, 512, 256),  {1, 32, 8, 1024, 1024, 128}};
  return shapes;
}

}  // namespace

std::string to_string(const AttentionCase& attention_case) {
  std::string text = std::string(name_of(attention_case.direction)) +
                     (attention_case.causal ? " causal " : " full ") + to_string(attention_case.shape);
  if (attention_case.dtype != DType::f32) text.append(" ").append(attend::name_of(attention_case.dtype));
  return text;
}

std::vector<AttentionCase> attention_cases(bool quick) {
  std::vector<AttentionCase> cases;
  std::vector<Shape> shapes = short_shapes();
  if (!quick) shapes.insert(shapes.end(), long_shapes().begin(), long_shapes().end());
  for (const Direction direction : {Direction::forward, Direction::backward}) {
    for (const Shape& shape : shapes) {
      for (const bool causal : {false, true}) cases.push_back({shape, DType::f32, direction, causal});
    }
  }
  for (const DType dtype : {DType::bf16, DType::f16}) {
    cases.push_back({square(1, 12, 512, 64), dtype});
    if (!quick) cases.push_back({square(1, 8, 2048, 128), dtype});
  }
  return cases;
}

std::vector<AttentionCase> precision_cases(bool quick) {
  std::vector<Shape> shapes = short_shapes();
  if (!quick) {
    shapes.insert(shapes.end(), {square(1, 8, 2048, 64),
                                 square(1, 8, 4096, 64),
                                 square(1, 8, 512, 128),
                                 square(1, 8, 2048, 128),
                                 square(1, 8, 4096, 128),
                                 square(1, 4, 16384, 64),
                                 square(1, 8, 512, 256),
                                 {1, 32, 8, 1024, 1024, 128}});
  }
  std::vector<AttentionCase> cases;
  for (const Shape& shape : shapes) {
    for (const bool causal : {false, true}) cases.push_back({shape, DType::f32, Direction::forward, causal});
  }
  return cases;
}

std::string to_string(const ProductCase& product_case) {
  const auto [m, n, k] = product_case.size;
  return std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k) +
         (product_case.gelu ? " + bias, GELU" : "");
}

std::vector<ProductCase> product_cases(bool quick) {
  std::vector<ProductCase> cases;
  for (const std::int64_t m : {512, 128, 8, 1}) {
    if (quick && (m == 128 || m == 8)) continue;
    for (const std::int64_t n : {384, 1536}) {
      for (const std::int64_t k : {384, 1536}) cases.push_back({{m, n, k}});
    }
  }
  cases.push_back({{512, 1536, 384}, true});
  return cases;
}

std::string to_string(const DecodeCase& decode_case) {
  return to_string(decode_case.shape) + " " + std::string(attend::name_of(decode_case.dtype));
}

double cache_bytes(const DecodeCase& decode_case) {
  const Shape& shape = decode_case.shape;
  return 2 * static_cast<double>(shape.b * shape.hkv * shape.lk * shape.d) *
         static_cast<double>(size_of(decode_case.dtype));
}

std::vector<DecodeCase> decode_cases(bool quick) {
  std::vector<DecodeCase> cases = {{{1, 8, 8, 1, 65536, 64}},
                                   {{1, 32, 8, 1, 32768, 128}},
                                   {{1, 8, 1, 1, 262144, 128}},
                                   {{1, 32, 8, 1, 65536, 128}, DType::bf16}};
  if (quick) {
    for (DecodeCase& one : cases) one.shape.lk /= 4;
    return cases;
  }
  cases.insert(cases.end(), {{{1, 32, 8, 1, 65536, 64}},
                             {{1, 8, 8, 1, 32768, 128}},
                             {{8, 32, 8, 1, 4096, 128}},
                             {{1, 8, 8, 1, 131072, 64}, DType::bf16},
                             {{8, 32, 8, 1, 8192, 128}, DType::bf16},
                             {{1, 32, 8, 1, 65536, 128}, DType::f16}});
  return cases;
}

Record attention_record(const AttentionCase& one) {
  Record record;
  record.bench = "attention";
  record.name = to_string(one);
  record.dtype = one.dtype;
  record.direction = one.direction;
  record.causal = one.causal;
  record.shape = one.shape;
  record.flops = attention_flops(one.shape, one.direction, one.causal);
  return record;
}

}  // namespace attend::bench
