// Two texts as a model with an encoder and a decoder reads them: a source, and a target of token type 1.
#pragma once

#include <attend/tokenizer.h>

#include <cstdint>
#include <string_view>

namespace attend::model {

// attend's own tokenizers mark the target and put the start token before it, by their post-processor. Those
// of other families (T5) were made for texts by themselves: then the source is such a text, what is added to
// it included, and the target is the start token and the bare second text. Nothing is cut.
Encoding encode_source_and_target(const Tokenizer& tokenizer, std::string_view source,
                                  std::string_view target, std::int32_t start_token, EncodeOptions options);

}  // namespace attend::model
