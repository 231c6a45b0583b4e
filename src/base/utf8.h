// Whether bytes are UTF-8.
#pragma once

#include <cstddef>
#include <string_view>

namespace attend {

// Bytes of the character that the text begins with; 0 when it begins with none: overlong forms, surrogates
// and what lies beyond U+10FFFF are no characters.
std::size_t utf8_length(std::string_view text) noexcept;

// Where the first byte that is not UTF-8 stands, or the size of the text.
std::size_t find_bad_utf8(std::string_view text) noexcept;

}  // namespace attend
