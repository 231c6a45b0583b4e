// What a page carries for its views of the next token and of the block.
#pragma once

#include <attend/lens.h>

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace attend::page {

// For how many of the last tokens of a text a page carries this.
struct InsideBounds {
  std::int64_t block_places = 512;  // the path through the blocks: 1.6% of the page's size
  std::int64_t next_places = 64;    // candidates; fewer where the products with the table of tokens take long
};

// Numbers are f32, little-endian, in base64. Places are the last ones of the text, in their order.
struct CarriedInside {
  // {"block": {"first", "logits": [[place, token], ...]}, "next": {"first", "top", "texts"}}; no "next" for a
  // model that does not write. "first" is the first place.
  std::string facts;

  // For each place and layer: in, middle, out; input, length and cosine of attention; the heads; rest; input,
  // length and cosine of the feed-forward part. NaN for what there is not. Then for each of "logits": logit,
  // embedding, constant; and for each layer the heads, rest, the feed-forward part.
  std::string block;

  // For each place and each layer from 0: `top` ids, their logits less the largest, the logarithm of the sum
  // at temperature 1. Then the sums at all temperatures: of the last layer at each place, and of each layer
  // at the last place. Then how probable the token was that follows each place.
  std::string next;
};
CarriedInside carried_inside(const Reading& reading, const InsideBounds& bounds = {});

}  // namespace attend::page
