// How the vectors of a text's tokens become one.
#pragma once

#include <cstdint>

namespace attend {

enum class Pooling : std::uint8_t {
  cls,               // that of the first token: [CLS]
  max,               // of each element the largest
  mean,              //
  mean_sqrt_length,  // the sum over the square root of the number of tokens
  weighted_mean,     // token i counts i + 1 times
  last_token,        // that of the last token
};

}  // namespace attend
