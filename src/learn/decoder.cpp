#include "learn/decoder.h"

#include <attend/embedding.h>
#include <attend/file_error.h>
#include <attend/positions.h>

#include <numeric>

#include "base/error.h"

namespace attend::learn {
namespace {

constexpr const char* kOperation = "generate";

using train::ModelKind;
using train::PositionKind;

// (length, E) where positions are learned, else nothing.
Tensor position_table(const StoredModel& model) {
  const train::ModelShape& shape = model.shape();
  if (shape.positions != PositionKind::learned) return Tensor(DType::f32, {0, shape.hidden});
  return copy_of(model.tensor("positions", {shape.length, shape.hidden}), DType::f32);
}

}  // namespace

Decoder::Decoder(const ModelFiles& files) : Decoder(StoredModel(files), files.config.string()) {}

Decoder::Decoder(const StoredModel& model, const std::string& file) : shape_(model.shape()) {
  if (shape_.kind == ModelKind::encoder) throw FileError(file, "kind", "\"encoder\" cannot write");
  const bool two = shape_.kind == ModelKind::encoder_decoder;
  words_ = copy_of(model.tensor("words", {shape_.vocabulary, shape_.hidden}), DType::f32);
  positions_ = position_table(model);
  output_ = PackedMatrix(model.output());
  blocks_.emplace(model, "layer", true, two);
  if (two) {
    if (!model.start()) throw FileError(file, "decoder_start_token_id", "is missing");
    start_ = *model.start();
    encoder_.emplace(model, "encoder", false, false);
  }
  if (shape_.norm_first) {
    final_norm_ = {model, "norm"};
    if (two) source_norm_ = {model, "encoder.norm"};
  } else {
    embedding_norm_ = {model, "embedding.norm"};
    if (two) source_embedding_norm_ = {model, "encoder.embedding.norm"};
  }
  model.require_intact();
}

void Decoder::forget() { blocks_->forget(); }

Tensor Decoder::embedded(std::span<const std::int32_t> ids, std::int64_t first,
                         const ReadingNorm& norm) const {
  const auto n = static_cast<std::int64_t>(ids.size());
  if (first + n > most_tokens()) {
    refuse(kOperation, first + n, " tokens are more than the ", most_tokens(), " positions of the model");
  }
  Tensor x(DType::f32, {n, shape_.hidden});
  embedding(ids, words_, x);
  const auto add_places = [&](const Tensor& table, std::int64_t from) {
    std::vector<std::int32_t> places(ids.size());
    std::iota(places.begin(), places.end(), static_cast<std::int32_t>(from));
    add_embedding(places, table, x);
  };
  if (shape_.positions == PositionKind::learned) add_places(positions_, first);
  if (shape_.positions == PositionKind::sinusoidal) {
    // Of these tokens alone: how many there may be is what a file says, and no tensor of it proves.
    Tensor table(DType::f32, {n, shape_.hidden});
    sinusoidal_positions(table, first);
    add_places(table, 0);
  }
  if (!shape_.norm_first) norm(x, x);
  return x;
}

void Decoder::read_source(std::span<const std::int32_t> ids) {
  if (!has_source()) refuse(kOperation, "the model has no encoder to read a source");
  if (ids.empty()) refuse(kOperation, "the source is empty");
  forget();
  Tensor x = embedded(ids, 0, source_embedding_norm_);
  encoder_->forget();
  encoder_->read(x);
  if (shape_.norm_first) source_norm_(x, x);
  blocks_->look_at(x);
  source_read_ = true;
}

Tensor Decoder::read(std::span<const std::int32_t> ids) {
  if (ids.empty()) refuse(kOperation, "there is no token to go on from");
  if (has_source() && !source_read_) refuse(kOperation, "there is no source yet to answer");
  Tensor x = embedded(ids, length(), embedding_norm_);
  blocks_->read(x);
  const TensorView last = x.view().slice(0, x.size(0) - 1, x.size(0));
  if (shape_.norm_first) final_norm_(last, last);
  Tensor logits(DType::f32, {1, shape_.vocabulary});
  matmul(last, output_, logits);
  return copy_of(logits.view().select(0, 0));
}

}  // namespace attend::learn
