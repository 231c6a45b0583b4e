// Rotary positions as config.json has them, in both of its forms: rope_parameters, which may have an object
// for each type of layer, and rope_theta with rope_scaling.
#pragma once

#include <attend/positions.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "io/json_fields.h"

namespace attend::model {

// What a family says where a file says nothing, and its names for it.
struct RopeConfig {
  std::int64_t head_size = 0;
  std::int64_t positions = 0;  // max_position_embeddings
  double base = 10000;
  std::string_view base_key = "rope_theta";
  bool partial = false;  // a part of a head may rotate
  double fraction = 1;   // which
  std::string_view fraction_key = "partial_rotary_factor";
  std::optional<std::int64_t> original{};  // the length that was learned, where the file does not say it at
                                           // its top level
  bool yarn_is_longrope = false;           // as early files of Phi-3 call it
  bool takes_scaling = true;               // rope_scaling is for these layers too
  std::string_view layer_type{};           // whose object in rope_parameters is meant, where it has them
};

// Throws FileError for a type that attend does not have, and for numbers that make no rotation.
Rotary read_rotary(const io::JsonFields& config, const RopeConfig& rope);

// How many tokens a text may have: max_position_embeddings, or more where positions are stretched from a
// length that the file names.
std::int64_t stretched_positions(const io::JsonFields& config, std::int64_t positions,
                                 std::string_view layer_type);

}  // namespace attend::model
