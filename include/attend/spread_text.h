// One long text, read by several processes together: each has some of its tokens in every layer, and
// attention is spread over them (attend/spread_attention.h). Everything else in a layer belongs to one token.
#pragma once

#include <attend/spread_attention.h>
#include <attend/text_model.h>

#include <cstdint>
#include <optional>
#include <span>

namespace attend {

// A process's own tokens of a text: ids and the vectors that leave the last layer, or layer number `layers`,
// (own tokens, E), in the order of ZigzagCut. All processes are given the whole text. With
// SpreadWay::gathered and heads the bits are those of one process.
Tensor spread_forward(Processes& processes, SpreadWay way, const Transformer& transformer,
                      std::span<const std::int32_t> text, std::optional<std::int64_t> layers = {});

// The vector of the text, as embed() makes it: (1, embedding_size()) on process 0, no elements on the others.
// The processes have the same model and give the same text and options; those of embed() that concern texts
// before they are tokenized are ignored.
Tensor spread_embed(Processes& processes, SpreadWay way, const TextModel& model,
                    std::span<const std::int32_t> text, const EmbedOptions& options = {});

}  // namespace attend
