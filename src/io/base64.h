// Bytes as text of 64 characters, for what is carried inside SVG and HTML.
#pragma once

#include <string>
#include <string_view>

namespace attend::io {

std::string to_base64(std::string_view bytes);

// The same at the end of `text`: what is large need not exist twice.
void append_base64(std::string& text, std::string_view bytes);

}  // namespace attend::io
