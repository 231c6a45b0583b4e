// The part of a classifier or a cross-encoder that scores a whole text, or a pair of texts, from the vectors
// that leave the last layer: what transformers calls ForSequenceClassification.
#pragma once

#include <attend/transformer.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attend {

class SequenceHead {
 public:
  // None where config.json names no such class. Throws FileError where it does, and the checkpoint's tensors
  // do not fit what it says.
  static std::optional<SequenceHead> find(const ModelDescription& description, const TensorSource& tensors);

  // One name for each score: those of id2label, or LABEL_0, LABEL_1, ...
  const std::vector<std::string>& labels() const noexcept;
  std::int64_t count() const noexcept;  // of labels

  // What makes probabilities of logits: as transformers' pipeline for classifiers chooses it, by problem_type
  // and the number of labels; and as sentence-transformers' CrossEncoder does, by activation_fn, else the
  // sigmoid of a single score and the bare numbers of several.
  ScoreFunction classifier_function() const noexcept;
  ScoreFunction cross_encoder_function() const noexcept;

  // hidden (tokens, E), f32: what leaves the last layer for a batch. One row of scores a text, before any
  // function: (texts, count()), f32. A text's row has the same bits whatever the other texts and the number
  // of threads. A text without tokens is refused with std::invalid_argument.
  Tensor logits(ConstTensorView hidden, const TokenBatch& batch) const;

 private:
  struct Parts;
  explicit SequenceHead(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}
  std::shared_ptr<const Parts> parts_;
};

// logits (rows, labels), f32, become scores in place. The softmax is over the labels of a row.
void apply(ScoreFunction function, Tensor& logits);

}  // namespace attend
