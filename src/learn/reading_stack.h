// The blocks of a trained model as a reader runs them, a few tokens at a time: no gradients, and what was
// read stays as keys and values.
#pragma once

#include <attend/cache.h>
#include <attend/matmul.h>

#include <cstdint>
#include <string>
#include <vector>

#include "learn/stored_model.h"

namespace attend::learn {

// (in, out) and a bias.
class ReadingDense {
 public:
  ReadingDense() = default;
  ReadingDense(const StoredModel& model, const std::string& name, std::int64_t in, std::int64_t out);
  void operator()(ConstTensorView x, TensorView out, ConstTensorView residual = {},
                  Activation activation = Activation::none) const;

 private:
  PackedMatrix matrix_;
  Tensor bias_;
};

// A LayerNorm, or an RMSNorm, as the model has it.
class ReadingNorm {
 public:
  ReadingNorm() = default;
  ReadingNorm(const StoredModel& model, const std::string& name);
  void operator()(ConstTensorView x, TensorView out) const;

 private:
  Tensor gamma_, beta_;
  double epsilon_ = 0;
  bool rms_ = false;
};

class ReadingStack {
 public:
  // `name`: "layer" or "encoder", which names of parameters begin with. causal: tokens see those before them.
  // cross: blocks look at a source.
  ReadingStack(const StoredModel& model, const std::string& name, bool causal, bool cross);

  // What leaves the last block for x (n, E), which is overwritten with it, after all tokens before.
  void read(TensorView x);
  // (source tokens, E): keys and values of it, for all that is read from now on.
  void look_at(ConstTensorView source);

  void forget();  // all tokens; not the source
  std::int64_t length() const noexcept { return caches_.empty() ? 0 : caches_.front().length(); }

 private:
  struct Block {
    ReadingDense qkv, out, up, down;
    ReadingDense cross_q, cross_kv, cross_out;
    ReadingNorm attention_norm, cross_norm, feed_forward_norm;
  };
  // x + f(norm(x)), or norm(x + f(x)); f(read, residual) adds to the residual in place.
  template <class F>
  void around(TensorView x, const ReadingNorm& norm, const F& f) const;
  void attend_to_itself(const Block& block, KeyValueCache& cache, ConstTensorView read, TensorView sum) const;
  void attend_to_source(const Block& block, const KeyValueCache& source, ConstTensorView read,
                        TensorView sum) const;
  void feed_forward(const Block& block, ConstTensorView read, TensorView sum) const;

  train::ModelShape shape_;
  Activation activation_;
  bool causal_;
  std::vector<double> slopes_;
  std::vector<Block> blocks_;
  std::vector<KeyValueCache> caches_, sources_;
};

}  // namespace attend::learn
