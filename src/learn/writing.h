// From logits to tokens: one after the other, drawn or the most probable.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "learn/decoder.h"

namespace attend::learn {

struct Sampling {
  double temperature = 0.8;  // 0: always the most probable
  std::int64_t top = 40;     // only the so many most probable; 0: all
  std::uint64_t seed = 1;
};

// One of the ids of logits (vocabulary): number `number` of the stream of the seed decides.
std::int32_t sample(ConstTensorView logits, const Sampling& sampling, std::uint64_t number);

// So many tokens that follow the prompt, which has at least one. Where positions run out, the second half of
// what was written is read again from the start.
std::vector<std::int32_t> generate(Decoder& decoder, std::span<const std::int32_t> prompt, std::int64_t count,
                                   const Sampling& sampling);

}  // namespace attend::learn
