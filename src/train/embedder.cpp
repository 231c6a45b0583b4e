#include "train/embedder.h"

#include <attend/dropout.h>
#include <attend/embedding.h>
#include <attend/positions.h>

namespace attend::train {

Embedder::Embedder(Parameters& parameters, const std::string& name, const ModelShape& shape,
                   const EmbeddingTables& tables, std::uint64_t stream)
    : tables_(tables), hidden_(shape.hidden), stream_(stream) {
  if (!shape.norm_first) norm_.emplace(parameters, name + ".norm", shape);
}

void Embedder::plan(Arena& arena, std::int64_t rows) {
  if (norm_) arena.want(embedded_, {rows, hidden_});
  arena.want(out_, {rows, hidden_});
  places_.reserve(static_cast<std::size_t>(rows));
  if (tables_.type >= 0) types_.reserve(static_cast<std::size_t>(rows));
}

void Embedder::prepare(const ModelShape& shape, DType dtype) {
  if (shape.positions != PositionKind::sinusoidal) return;
  sinusoidal_ = Tensor(dtype, {shape.length, hidden_});
  sinusoidal_positions(sinusoidal_);
}

TensorView Embedder::forward(Pass& pass, std::span<const std::int32_t> ids) {
  const std::int64_t rows = pass.rows.count();
  const TensorView out = first_rows(out_, rows), embedded = norm_ ? first_rows(embedded_, rows) : out;
  places_.resize(static_cast<std::size_t>(rows));
  for (std::size_t i = 0; i < places_.size(); ++i) {
    places_[i] = static_cast<std::int32_t>(static_cast<std::int64_t>(i) % pass.rows.length);
  }
  embedding(ids, pass.parameters.value(tables_.words), embedded);
  if (tables_.positions >= 0) add_embedding(places_, pass.parameters.value(tables_.positions), embedded);
  if (tables_.type >= 0) {
    types_.assign(places_.size(), 0);
    add_embedding(types_, pass.parameters.value(tables_.type), embedded);
  }
  if (sinusoidal_.count() > 0) add_embedding(places_, sinusoidal_, embedded);
  if (norm_) norm_->forward(pass, embedded, out);
  if (pass.training && pass.shape.dropout > 0) {
    dropout(out, {.probability = pass.shape.dropout, .seed = pass.seed, .stream = stream_}, out);
  }
  return out;
}

void Embedder::backward(Pass& pass, std::span<const std::int32_t> ids, TensorView d) {
  if (pass.training && pass.shape.dropout > 0) {
    dropout(d, {.probability = pass.shape.dropout, .seed = pass.seed, .stream = stream_}, d);
  }
  if (norm_) norm_->backward(pass, first_rows(embedded_, pass.rows.count()), d, d);
  add_embedding_gradient(ids, d, pass.parameters.gradient(tables_.words));
  if (tables_.positions >= 0) add_embedding_gradient(places_, d, pass.parameters.gradient(tables_.positions));
  if (tables_.type >= 0) add_embedding_gradient(types_, d, pass.parameters.gradient(tables_.type));
}

}  // namespace attend::train
