#include "learn/sentence_vectors.h"

#include <utility>

namespace attend::learn {

SentenceVectors::SentenceVectors(ConstTensorView hidden, const train::Sequences& sequences,
                                 std::vector<Pooling> poolings)
    : length_(sequences.length), poolings_(std::move(poolings)) {
  for (std::int64_t s = 0; s < sequences.count; ++s) {
    ends_.push_back(ends_.back() + (sequences.lengths.empty()
                                        ? sequences.length
                                        : sequences.lengths[static_cast<std::size_t>(s)]));
  }
  tokens_ = Tensor(hidden.dtype(), {ends_.back(), hidden.size(1)});
  for (std::int64_t s = 0; s < sequences.count; ++s) {
    const std::int64_t begin = ends_[static_cast<std::size_t>(s)],
                       end = ends_[static_cast<std::size_t>(s) + 1];
    copy(hidden.slice(0, s * length_, s * length_ + end - begin), tokens_.view().slice(0, begin, end));
  }
  vectors_ =
      Tensor(hidden.dtype(), {sequences.count, hidden.size(1) * static_cast<std::int64_t>(poolings_.size())});
  pool(tokens_, ends_, poolings_, vectors_);
}

void SentenceVectors::backward(ConstTensorView d_vectors, TensorView d_hidden) const {
  Tensor d_tokens(tokens_.dtype(), tokens_.shape());
  pool_backward(tokens_, ends_, poolings_, d_vectors, d_tokens);
  for (std::size_t s = 0; s + 1 < ends_.size(); ++s) {
    const std::int64_t first = static_cast<std::int64_t>(s) * length_;
    copy(d_tokens.view().slice(0, ends_[s], ends_[s + 1]),
         d_hidden.slice(0, first, first + ends_[s + 1] - ends_[s]));
  }
}

}  // namespace attend::learn
