// A causal model that writes: GPT-2's forward pass, a few tokens at a time, over a cache of keys and values.
#pragma once

#include <attend/cache.h>
#include <attend/matmul.h>
#include <attend/model_config.h>
#include <attend/model_files.h>

#include <cstdint>
#include <span>
#include <vector>

namespace attend::learn {

class Decoder {
 public:
  // Throws FileError for a model that is not of GPT-2's family.
  explicit Decoder(const ModelFiles& files);

  // Reads these tokens after all before them; the logits of what follows the last, (vocabulary). Throws
  // std::invalid_argument for ids outside the vocabulary and more tokens than there are positions.
  Tensor read(std::span<const std::int32_t> ids);
  void forget();  // all tokens

  std::int64_t length() const noexcept { return length_; }
  std::int64_t most_tokens() const noexcept { return config_.max_tokens(); }

 private:
  struct Dense {
    PackedMatrix matrix;
    Tensor bias;
  };
  struct Norm {
    Tensor gamma, beta;
  };
  struct Layer {
    Norm attention_norm, output_norm;
    Dense qkv, out, up, down;
  };

  ModelConfig config_;
  Tensor words_, positions_;
  PackedMatrix output_;
  std::vector<Layer> layers_;
  Norm final_norm_;
  std::vector<KeyValueCache> caches_;
  std::int64_t length_ = 0;
};

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
