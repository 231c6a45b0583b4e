// The length of the sum of what all heads take from a token, for any weights: from the dot products of the
// projected values.
#pragma once

#include <attend/lens.h>

namespace attend::lens {

// (n, H, H), f64: entry (j, h, g) is f(j, h) · f(j, g), where f(j, h) is the value of token j in head h times
// that head's part of the output projection. So |sum over h of w_h f(j, h)|² is a quadratic form in the
// weights, and no vector need be made for each pair of tokens. Of one head alone: (n, 1, 1).
Tensor value_products(const Reading& reading, std::int64_t layer,
                      std::optional<std::int64_t> head_index = {});

}  // namespace attend::lens
