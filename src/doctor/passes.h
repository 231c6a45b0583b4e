// Several kinds of vectors from one pass through the model.
#pragma once

#include <attend/text_model.h>

#include <optional>
#include <span>
#include <vector>

namespace attend::doctor {

// As model.embed() with each layer in turn, from 0 to the last: (texts, size) each. Takes one pass, unless
// there are layers after pooling.
std::vector<Tensor> embed_each_layer(const TextModel& model, std::span<const Encoding> texts);

// As model.embed() with each pooling in turn, at a layer (default: the last), normalised or not.
std::vector<Tensor> embed_each_pooling(const TextModel& model, std::span<const Encoding> texts,
                                       std::span<const Pooling> poolings, bool normalize,
                                       std::optional<std::int64_t> layer = {});

}  // namespace attend::doctor
