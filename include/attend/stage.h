// The four points at which the scores of a row can be looked at.
#pragma once

#include <cstdint>
#include <string_view>

namespace attend {

enum class Stage : std::uint8_t {
  scores,   // scale q.k
  capped,   // after the softcap
  biased,   // after bias, ALiBi and mask: -inf for a key that takes no part
  weights,  // after softmax
};

std::string_view name_of(Stage stage) noexcept;

}  // namespace attend
