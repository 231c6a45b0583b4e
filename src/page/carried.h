// What a page carries of a reading, so that it can compute every number itself: q, k and v of every layer,
// and what the lengths of projected values are computed from.
#pragma once

#include <attend/lens.h>

#include <string>

namespace attend::page {

// One layer, f32, little-endian, in base64: q, k and v, (n, H, D) each; the dot products between the
// projected values of the heads for each token, (n, H (H + 1) / 2), the upper triangle row by row; and, where
// the layer has a bias by distance, that of key j and query i at n - 1 + j - i, (H, 2 n - 1).
std::string carried_layer(const Reading& reading, std::int64_t layer);

// Whether layers have such a bias. Throws std::invalid_argument for any other kind of bias.
bool has_distance_bias(const Reading& reading);

}  // namespace attend::page
