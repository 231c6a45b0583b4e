// A text in a form that the model can read: whole, truncated, or in several pieces.
#pragma once

#include <attend/text_model.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attend::embed {

enum class Overflow : std::uint8_t { truncate, error, split };

struct TextPiece {
  Encoding tokens;
  std::int32_t first_character = 0;  // in the text; the offsets of this piece are relative to it
};

// One piece, or with Overflow::split as many as the text needs, cut between words where that is possible.
// With Overflow::error a text that is too long gives none.
std::vector<TextPiece> pieces_of(const TextModel& model, std::string_view text, std::int64_t max_tokens,
                                 Overflow overflow);

}  // namespace attend::embed
