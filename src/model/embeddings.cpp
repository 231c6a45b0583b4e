#include "model/embeddings.h"

#include <attend/positions.h>

#include <algorithm>

#include "base/rows.h"

namespace attend::model {
namespace {

// The tables of a model that reads. Sinusoidal positions are made for each pass, up to the last place: their
// number comes from config.json alone, and no tensor of the file confirms it.
class ReadTables {
 public:
  ReadTables(const ModelDescription& description, const ModelWeights& weights,
             std::span<const std::int64_t> places)
      : tables_{weights.words, weights.types, weights.positions, description.first_position,
                description.embedding_scale} {
    if (description.positions != PositionKind::sinusoidal || places.empty()) return;
    const auto [first, last] = std::minmax_element(places.begin(), places.end());
    computed_ = Tensor(DType::f32, {*last - *first + 1, description.table_size()});
    sinusoidal_positions(computed_, *first);
    tables_.positions = computed_;
    tables_.first_position = -*first;
  }
  const EmbeddingTables& operator*() const { return tables_; }

 private:
  Tensor computed_;
  EmbeddingTables tables_;
};

// fill(rows) writes sums of the tables' rows; where those are of another size, the projection makes `out` of
// them.
template <class Fill>
void with_rows(const ModelDescription& description, const ModelWeights& weights, TensorView out,
               const Fill& fill) {
  if (!description.embedding_size) return fill(out);
  Tensor rows(DType::f32, {out.size(0), *description.embedding_size});
  fill(rows);
  weights.embedding_projection.view().apply(rows, out);
}

}  // namespace

void add_embeddings(const EmbeddingTables& tables, std::span<const std::int32_t> ids,
                    std::span<const std::int32_t> types, std::span<const std::int64_t> places,
                    TensorView out) {
  const std::int64_t n = out.size(1);
  const auto run = [&]<class T>(T) {
    T* const data = out.data<T>();
    const T scale = static_cast<T>(tables.words_scale);
    for_each_row(std::ssize(ids), n, [&](std::int64_t row, int) noexcept {
      const auto i = static_cast<std::size_t>(row);
      T* const to = data + row * out.stride(0);
      std::fill(to, to + n, T{0});
      tables.words.add_row(ids[i], scale, to);
      if (tables.types.given()) add_table_row(tables.types, types.empty() ? 0 : types[i], T{1}, to);
      if (tables.positions.given())
        add_table_row(tables.positions, places[i] + tables.first_position, T{1}, to);
    });
  };
  out.dtype() == DType::f32 ? run(float{}) : run(double{});
}

void embed(const ModelDescription& description, const ModelWeights& weights, const TokenBatch& batch,
           const PassPlan& plan, TensorView out) {
  with_rows(description, weights, out, [&](TensorView rows) {
    add_embeddings(*ReadTables(description, weights, plan.places()), batch.ids, batch.types, plan.places(),
                   rows);
    if (!description.embedding_norm) return;
    const NormDescription& norm = *description.embedding_norm;
    const TensorView target = plan.target().of(rows), source = plan.source().of(rows);
    if (!description.has_source()) return normalise(norm, weights.embedding_norm.view(), rows, rows);
    normalise(norm, weights.source_embedding_norm.view(), source, source);
    normalise(norm, weights.embedding_norm.view(), target, target);
  });
}

void embed(const ModelDescription& description, const ModelWeights& weights,
           std::span<const std::int32_t> ids, std::span<const std::int64_t> places, TensorView out) {
  with_rows(description, weights, out, [&](TensorView rows) {
    add_embeddings(*ReadTables(description, weights, places), ids, {}, places, rows);
    if (description.embedding_norm)
      normalise(*description.embedding_norm, weights.embedding_norm.view(), rows, rows);
  });
}

}  // namespace attend::model
