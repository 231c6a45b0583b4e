// What the families share in reading a config.json.
#pragma once

#include <attend/model_description.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "io/json_fields.h"

namespace attend::model {

// The sizes that every family gives, under whichever keys it uses.
struct ModelSizes {
  std::int64_t hidden = 0, layers = 0, heads = 0, inner = 0, vocabulary = 0, positions = 0;
};
// inner_per_hidden: the size of the feed-forward part, as a multiple of the hidden size, where it is left
// out; 0: it must be given.
ModelSizes read_sizes(const io::JsonFields& config, std::int64_t inner_per_hidden = 0);

// A model of these sizes whose layers are all like this one; the layer's own sizes are filled in.
ModelDescription uniform_model(const ModelSizes& sizes, LayerDescription layer);

// Position tables whose first row is not 0 must have rows left.
void require_positions(const io::JsonFields& config, const ModelDescription& description);

// Whether all layers are like those of GPT-2 and BERT: LayerNorm in this place, plain attention (causal or
// not), a feed-forward part without a gate; and positions are learned.
bool is_classic(const ModelDescription& description, NormPlace place, bool causal);

// The classes whose weights the file has, as transformers names them; a value of another kind has none.
std::vector<std::string_view> read_architectures(const io::JsonFields& config);

void read_pad_token(const io::JsonFields& config, ModelDescription& description);

Activation read_activation(const io::JsonFields& config, std::string_view key, std::string_view fallback);

// Of rotary positions: positive.
double read_rotary_base(const io::JsonFields& config, std::string_view key, double fallback);
// `rotary`: an object of config.json that says how positions rotate. Refuses those that are stretched.
void require_plain_rotary(const io::JsonFields& rotary);

// Between 0 and 1, both excluded.
double read_epsilon(const io::JsonFields& config, std::string_view key, double fallback);

double read_positive(const io::JsonFields& config, std::string_view key, double fallback);

// Refuse options that change what a model computes in ways that attend does not support.
void refuse_unless(const io::JsonFields& config, std::string_view key, bool expected);
void refuse_other_kinds(const io::JsonFields& config);

}  // namespace attend::model
