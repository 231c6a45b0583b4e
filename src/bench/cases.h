// The cases that are measured.
#pragma once

#include <vector>

#include "bench/record.h"

namespace attend::bench {

struct AttentionCase {
  Shape shape;
  DType dtype = DType::f32;
  Direction direction = Direction::forward;
  bool causal = false;
};
std::string to_string(
    const AttentionCase& attention_case);           // "fwd causal 1,12,512,64", and "bf16" where it is
Record attention_record(const AttentionCase& one);  // what is known before it is measured

// The shapes for which other engines publish figures (docs/benchmarks.md), those of small encoders, the head
// sizes that kernels are tuned for, grouped heads, 16-bit storage. Quick: the short ones.
std::vector<AttentionCase> attention_cases(bool quick);

// Forward, in f32 and in bf16: from one short text to one long one.
std::vector<AttentionCase> precision_cases(bool quick);

struct ProductCase {
  ProductSize size;
  bool gelu = false;  // with bias and GELU, as in the first half of an encoder's feed-forward layer
};
std::string to_string(const ProductCase& product_case);  // "512 x 384 x 1536", m x n x k

// The products of small encoders: hidden sizes 384 and 1536; a whole batch, one text, a few tokens, one
// token.
std::vector<ProductCase> product_cases(bool quick);

struct DecodeCase {
  Shape shape;
  DType dtype = DType::f32;
};
std::string to_string(const DecodeCase& decode_case);
double cache_bytes(const DecodeCase& decode_case);  // of keys and values

// One query per sequence on 256 MiB of keys and values (quick: 64): keys for each query head, grouped, one
// for all; one long sequence, several shorter ones.
std::vector<DecodeCase> decode_cases(bool quick);

}  // namespace attend::bench
