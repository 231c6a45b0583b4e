// What a config.json says of the part that scores whole texts.
#pragma once

#include <attend/model_description.h>

#include <optional>

#include "io/json_fields.h"
#include "model/tensor_names.h"

namespace attend::model {

// None unless one of the architectures is a ForSequenceClassification. Labels are those of id2label, else as
// many as num_labels, else two, as transformers has it; label2id says the same again and is not looked at.
std::optional<SequenceHeadDescription> read_sequence_head(const io::JsonFields& config, Pooling pooling);

// Of the decoders, which all score their last token that is not padding.
std::optional<SequenceHeadDescription> read_last_token_head(const io::JsonFields& config);
// The names for it; such a model guesses no tokens, even where its table of words is that of the output.
void score_last_token(const ModelDescription& description, TensorNames& names);

}  // namespace attend::model
