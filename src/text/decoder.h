// Decoders: from tokens back to text.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/json_document.h"
#include "text/allowance.h"

namespace attend::text {

class Decoder {
 public:
  virtual ~Decoder() = default;

  // Rewrites the tokens; put together they are the text. std::invalid_argument where the allowance is not
  // enough.
  virtual void apply(std::vector<std::string>& tokens, Allowance& allowance) const = 0;
};

std::unique_ptr<const Decoder> read_decoder(const io::JsonValue& decoder);
std::unique_ptr<const Decoder> make_word_piece_decoder(std::string_view prefix, bool cleanup);

}  // namespace attend::text
