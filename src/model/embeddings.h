// The vectors that enter the first layer.
#pragma once

#include <attend/transformer.h>

#include <cstdint>
#include <span>

#include "model/pass_plan.h"
#include "model/weights.h"
#include "model/word_table.h"

namespace attend::model {

// The tables that a token's vector is the sum of. One that is not given adds nothing.
struct EmbeddingTables {
  WordTable words{};
  ConstTensorView types{}, positions{};
  std::int64_t first_position = 0;  // the row of place 0
  double words_scale = 1;           // in f32 where the result is
};

// out[i] = words_scale words[ids[i]] + types[types[i]] + positions[places[i] + first_position], (ids, E), f32
// or f64. No types: all 0. Nothing is checked.
void add_embeddings(const EmbeddingTables& tables, std::span<const std::int32_t> ids,
                    std::span<const std::int32_t> types, std::span<const std::int64_t> places,
                    TensorView out);

// What enters the first layer of a model that reads: for a batch, and for some tokens of a target or of a
// text that a decoder continues. The caller has checked both.
void embed(const ModelDescription& description, const ModelWeights& weights, const TokenBatch& batch,
           const PassPlan& plan, TensorView out);
void embed(const ModelDescription& description, const ModelWeights& weights,
           std::span<const std::int32_t> ids, std::span<const std::int64_t> places, TensorView out);

}  // namespace attend::model
