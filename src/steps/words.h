// Words for messages.
#pragma once

#include <string>
#include <string_view>

#include "draw/prose.h"

namespace attend::steps {

// At most 40 columns of the text, on one line and unable to drive the terminal.
std::string shown(std::string_view text);

using draw::counted;

}  // namespace attend::steps
