// What a page carries of a reading, so that it can make every number by itself: q, k, v of every layer and
// what lengths of projected values are made of.
#pragma once

#include <attend/lens.h>

#include <string>

namespace attend::page {

// One layer, f32, little-endian, in base64: q, k and v, (n, H, D) each; the products of the projected values
// of each token with each other, (n, H (H + 1) / 2), row h before row h + 1, each from h on; and, where the
// layer has a bias by distance, that of key j and query i at n - 1 + j - i, (H, 2 n - 1).
std::string carried_layer(const Reading& reading, std::int64_t layer);

// Whether layers have such a bias. Throws std::invalid_argument for one that is of another kind.
bool has_distance_bias(const Reading& reading);

}  // namespace attend::page
