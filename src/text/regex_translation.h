// Regular expressions as Oniguruma reads them, rewritten for PCRE2.
#pragma once

#include <string>
#include <string_view>

#include "io/json_document.h"

namespace attend::text {

// An expression that PCRE2, with PCRE2_MULTILINE and \n alone for the end of a line, matches where Oniguruma
// matches the given one. Only what is known to mean the same, or can be written so that it does, is let
// through: FileError, with `where`, names the rest.
std::string translated_regex(const io::JsonValue& where, std::string_view expression);

}  // namespace attend::text
