// The names that BERT gave its tensors, which its relatives kept in part.
#pragma once

#include <attend/model_description.h>

#include <string>

#include "model/tensor_names.h"

namespace attend::model {

// All but the layers' and the output's.
inline TensorNames bert_embedding_names(const std::string& family) {
  return {.words = "embeddings.word_embeddings.weight",
          .positions = "embeddings.position_embeddings.weight",
          .types = "embeddings.token_type_embeddings.weight",
          .embedding_norm = "embeddings.LayerNorm",
          .prefixes = {"", family + "."}};
}

// All but the output's.
inline TensorNames bert_names(const ModelDescription& description, const std::string& family) {
  TensorNames names = bert_embedding_names(family);
  for (std::int64_t i = 0; i < description.layer_count(); ++i) {
    const std::string layer = "encoder.layer." + std::to_string(i) + ".";
    const std::string self = layer + "attention.self.", output = layer + "attention.output.";
    names.layers.push_back({.projected = {self + "query", self + "key", self + "value"},
                            .out = output + "dense",
                            .attention_norm = output + "LayerNorm",
                            .up = {layer + "intermediate.dense"},
                            .down = layer + "output.dense",
                            .feed_forward_norm = layer + "output.LayerNorm"});
  }
  return names;
}

// BERT's pooler, and the classifier of what it gives.
inline SequenceNames pooler_names() {
  return {.dense = "pooler.dense", .score = "classifier", .pooler = true};
}

// RoBERTa's, MPNet's and ELECTRA's: RoBERTa's file may have a pooler as well, which is not used.
inline SequenceNames roberta_sequence_names() {
  return {.dense = "classifier.dense", .score = "classifier.out_proj"};
}

// RoBERTa's and MPNet's.
inline OutputNames roberta_output_names() {
  return {.dense = "lm_head.dense",
          .norm = "lm_head.layer_norm",
          .own_activation = false,
          .tables = {"lm_head.decoder.weight"},
          .biases = {"lm_head.bias", "lm_head.decoder.bias"}};
}

}  // namespace attend::model
