// The part of a language model that guesses tokens from the vectors that leave its last layer: at a masked
// place, or the one that comes next.
#pragma once

#include <attend/matmul.h>
#include <attend/transformer.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attend {

class TokenHead {
 public:
  // None where the checkpoint has no such part, as with a sentence model. Throws FileError for one whose
  // tensors do not fit.
  // options: those of the model. In int8 a table that a file stores in blocks stays in them.
  static std::optional<TokenHead> find(const ModelDescription& description, const TensorSource& tensors,
                                       const ModelOptions& options = {});

  // How strongly each token of the vocabulary is expected, from what leaves the last layer at one place, (E):
  // logits, f64.
  std::vector<double> logits(std::span<const double> hidden) const;
  // The same for several such vectors, (rows, E), of any floating type: (rows, vocabulary), f64.
  Tensor logits(ConstTensorView hidden) const;
  // The same for some tokens only, in their order.
  std::vector<double> logits(std::span<const double> hidden, std::span<const std::int32_t> tokens) const;

  // For a model that writes: the same, ready for one text after another. Throws std::invalid_argument for a
  // head that guesses at masked places.
  TokenHead for_writing() const;
  // Of such a head: the logits of what follows each row of (rows, E), f32, as (rows, vocabulary), f32. The
  // same bits on any number of threads and whatever the other rows are.
  Tensor next_logits(ConstTensorView hidden) const;

  // For a model that writes: the vector whose product with what leaves the last layer is the logit of a
  // token, before the description's output_softcap, (E). Throws std::invalid_argument as for_writing() does.
  std::vector<double> direction(std::int32_t token) const;

  // How the logit of one token changes with that vector, (E).
  std::vector<double> gradient(std::span<const double> hidden, std::int32_t token) const;

 private:
  TokenHead() = default;
  Tensor transformed(ConstTensorView hidden) const;  // what the table of tokens is multiplied by, f64
  void require_token(std::int32_t token) const;
  void require_writer() const;
  std::int64_t vocabulary() const;
  Tensor rows_of_table(std::int64_t first, std::int64_t last) const;  // f64

  // Before the table of tokens: dense, activation, norm. None in models that write.
  struct Transform {
    ConstTensorView weight, bias;  // (T, E) as (out, in), (T) or not given; T: the size of the table's rows
    Activation activation = Activation::gelu;
    ConstTensorView gamma, beta;
    double epsilon = 1e-12;
  };

  TensorSource source_;                 // keeps alive what the views look at
  std::shared_ptr<const Tensor> rows_;  // for_writing: the table, where the file does not have it in rows
  std::optional<Transform> transform_;
  double scale_ = 1;       // of what enters
  ConstTensorView table_;  // (vocabulary, T); or
  std::optional<StoredBlocks> blocks_;
  std::shared_ptr<const PackedMatrix> packed_;  // for_writing: of the blocks
  ConstTensorView bias_;                        // (vocabulary), or not given
  double softcap_ = 0;                          // ModelDescription::output_softcap
};

}  // namespace attend
