#include "learn/reading_stack.h"

#include <attend/layer_norm.h>
#include <attend/positions.h>
#include <attend/rms_norm.h>
#include <attend/swiglu.h>

#include <numeric>

namespace attend::learn {
namespace {

using train::FeedForwardKind;
using train::PositionKind;

// (n, H D) as (1, H, n, D)
TensorView by_head(TensorView rows, std::int64_t heads) {
  return rows.split(1, heads, rows.size(1) / heads).transposed(0, 1).with_axis(0);
}

// Part number `which` of rows that hold several side by side.
TensorView part(TensorView rows, std::int64_t which, std::int64_t width) {
  return rows.slice(1, which * width, (which + 1) * width);
}

}  // namespace

ReadingDense::ReadingDense(const StoredModel& model, const std::string& name, std::int64_t in,
                           std::int64_t out)
    : matrix_(model.tensor(name + ".weight", {in, out})),
      bias_(copy_of(model.tensor(name + ".bias", {out}), DType::f32)) {}

void ReadingDense::operator()(ConstTensorView x, TensorView out, ConstTensorView residual,
                              Activation activation) const {
  matmul(x, matrix_, out, {.bias = bias_, .activation = activation, .residual = residual});
}

ReadingNorm::ReadingNorm(const StoredModel& model, const std::string& name)
    : epsilon_(model.shape().epsilon), rms_(model.shape().norm == train::NormKind::rms) {
  const Dims shape{model.shape().hidden};
  gamma_ = copy_of(model.tensor(name + ".gamma", shape), DType::f32);
  if (!rms_) beta_ = copy_of(model.tensor(name + ".beta", shape), DType::f32);
}

void ReadingNorm::operator()(ConstTensorView x, TensorView out) const {
  rms_ ? rms_norm(x, gamma_, epsilon_, out) : layer_norm(x, gamma_, beta_, epsilon_, out);
}

ReadingStack::ReadingStack(const StoredModel& model, const std::string& name, bool causal, bool cross)
    : shape_(model.shape()), activation_(model.activation()), causal_(causal) {
  const std::int64_t e = shape_.hidden, inner = shape_.inner, d = e / shape_.heads;
  const bool gated = shape_.feed_forward == FeedForwardKind::swiglu;
  if (shape_.positions == PositionKind::alibi) slopes_ = alibi_slopes(shape_.heads);
  for (std::int64_t i = 0; i < shape_.layers; ++i) {
    const std::string prefix = name + "." + std::to_string(i);
    const std::string self = prefix + ".attention", other = prefix + ".cross",
                      wide = prefix + ".feed_forward";
    Block block;
    block.qkv = {model, self + ".qkv", e, 3 * e};
    block.out = {model, self + ".out", e, e};
    block.attention_norm = {model, self + ".norm"};
    if (cross) {
      block.cross_q = {model, other + ".q", e, e};
      block.cross_kv = {model, other + ".kv", e, 2 * e};
      block.cross_out = {model, other + ".out", e, e};
      block.cross_norm = {model, other + ".norm"};
      sources_.emplace_back(DType::f32, 1, shape_.heads, d, d);
    }
    block.up = {model, wide + ".up", e, gated ? 2 * inner : inner};
    block.down = {model, wide + ".down", inner, e};
    block.feed_forward_norm = {model, wide + ".norm"};
    blocks_.push_back(std::move(block));
    caches_.emplace_back(DType::f32, 1, shape_.heads, d, d);
  }
}

void ReadingStack::forget() {
  for (KeyValueCache& cache : caches_) cache.clear();
}

void ReadingStack::look_at(ConstTensorView source) {
  const std::int64_t e = shape_.hidden;
  Tensor both(DType::f32, {source.size(0), 2 * e});
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    blocks_[i].cross_kv(source, both);
    sources_[i].clear();
    sources_[i].append(by_head(part(both, 0, e), shape_.heads), by_head(part(both, 1, e), shape_.heads));
  }
}

template <class F>
void ReadingStack::around(TensorView x, const ReadingNorm& norm, const F& f) const {
  if (shape_.norm_first) {
    Tensor normed(DType::f32, x.shape());
    norm(x, normed);
    f(ConstTensorView(normed), x);
    return;
  }
  const Tensor before = copy_of(x);
  f(ConstTensorView(before), x);
  norm(x, x);
}

void ReadingStack::attend_to_itself(const Block& block, KeyValueCache& cache, ConstTensorView read,
                                    TensorView sum) const {
  const std::int64_t n = read.size(0), e = shape_.hidden;
  Tensor rows(DType::f32, {n, 3 * e}), attended(DType::f32, {n, e});
  block.qkv(read, rows);
  const auto head = [&](std::int64_t which) { return by_head(part(rows, which, e), shape_.heads); };
  if (shape_.positions == PositionKind::rotary) {
    std::vector<std::int64_t> places(static_cast<std::size_t>(n));
    std::iota(places.begin(), places.end(), cache.length());
    for (const std::int64_t which : {0, 1}) apply_rotary(head(which), places, {}, head(which));
  }
  AttentionOptions options{.causal = causal_, .alibi_slopes = slopes_};
  if (!shape_.scaled) options.scale = 1;
  cache.append(head(1), head(2));
  cache.attention(head(0), options, by_head(attended, shape_.heads));
  block.out(attended, sum, sum);
}

void ReadingStack::attend_to_source(const Block& block, const KeyValueCache& source, ConstTensorView read,
                                    TensorView sum) const {
  Tensor query(DType::f32, read.shape()), attended(DType::f32, read.shape());
  block.cross_q(read, query);
  AttentionOptions options{};
  if (!shape_.scaled) options.scale = 1;
  source.attention(by_head(query, shape_.heads), options, by_head(attended, shape_.heads));
  block.cross_out(attended, sum, sum);
}

void ReadingStack::feed_forward(const Block& block, ConstTensorView read, TensorView sum) const {
  const std::int64_t n = read.size(0), inner = shape_.inner;
  if (shape_.feed_forward != FeedForwardKind::swiglu) {
    Tensor wide(DType::f32, {n, inner});
    block.up(read, wide, {}, activation_);
    return block.down(wide, sum, sum);
  }
  Tensor wide(DType::f32, {n, 2 * inner}), gated(DType::f32, {n, inner});
  block.up(read, wide);
  swiglu(part(wide, 0, inner), part(wide, 1, inner), gated);
  block.down(gated, sum, sum);
}

void ReadingStack::read(TensorView x) {
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const Block& block = blocks_[i];
    around(x, block.attention_norm,
           [&](ConstTensorView read, TensorView sum) { attend_to_itself(block, caches_[i], read, sum); });
    if (!sources_.empty()) {
      around(x, block.cross_norm,
             [&](ConstTensorView read, TensorView sum) { attend_to_source(block, sources_[i], read, sum); });
    }
    around(x, block.feed_forward_norm,
           [&](ConstTensorView read, TensorView sum) { feed_forward(block, read, sum); });
  }
}

}  // namespace attend::learn
