// How far a mistyped name is from another.
#pragma once

#include <cstddef>
#include <string_view>

namespace attend::detail {

// How many bytes must be changed, added, taken away, or swapped with the next: "teh" is one slip from "the".
std::size_t slips_between(std::string_view a, std::string_view b);

}  // namespace attend::detail
