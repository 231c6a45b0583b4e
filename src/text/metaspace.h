// How sentencepiece writes spaces.
#pragma once

#include "io/json_document.h"

namespace attend::text {

enum class PrependScheme { always, first, never };

struct MetaspaceOptions {
  char32_t replacement = 0x2581;
  PrependScheme prepend = PrependScheme::always;
  bool split = true;
};

// Of the pre-tokenizer and of the decoder, which have the same keys.
MetaspaceOptions read_metaspace_options(const io::JsonValue& metaspace);

}  // namespace attend::text
