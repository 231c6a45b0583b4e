#include "model/families/rope_config.h"

#include <algorithm>
#include <cmath>

#include "model/families/config_keys.h"
#include "model/rotary_stretch.h"

namespace attend::model {
namespace {

// Each layer has its own list of divisors, and no head of a real model is this large.
constexpr std::int64_t kMostStretchedPairs = 512;

// The object that says how positions are stretched: where the file has two, the older one, as in
// transformers. layer_type: that of the layers that are meant, in families that tell them apart.
const io::JsonFields* rope_object(const io::JsonFields& config, std::string_view layer_type,
                                  bool takes_scaling = true) {
  const bool older = takes_scaling && config.has("rope_scaling");
  const std::string_view key = older ? "rope_scaling" : "rope_parameters";
  const io::JsonFields* const all = config.object(key);
  if (all == nullptr || !(all->has("full_attention") || all->has("sliding_attention"))) return all;
  if (layer_type.empty())
    config.refuse(key, "tells types of layers apart, which does not happen in this family");
  return all->object(layer_type);
}

double required(const io::JsonFields& config, std::string_view key) {
  if (!config.has(key)) config.refuse(key, "is missing");
  return read_positive(config, key, 1);
}

std::optional<double> optional_number(const io::JsonFields& config, std::string_view key) {
  return config.has(key) ? std::optional(read_positive(config, key, 1)) : std::nullopt;
}

std::vector<double> divisors(const io::JsonFields& rope, std::string_view key, std::int64_t pairs) {
  if (!rope.has(key)) rope.refuse(key, "is missing");
  const std::vector<double> list = rope.numbers(key, static_cast<std::size_t>(pairs));
  if (std::ssize(list) != pairs)
    rope.refuse(key, "has ", list.size(), " numbers, expected one for each of the ", pairs,
                " pairs that rotate");
  for (const double divisor : list) {
    if (!(divisor > 0)) rope.refuse(key, "has the number ", divisor, ", expected positive ones");
  }
  return list;
}

std::int64_t original_length(const io::JsonFields& config, const io::JsonFields& rope, std::int64_t positions,
                             std::optional<std::int64_t> fallback) {
  constexpr std::string_view kKey = "original_max_position_embeddings";
  if (config.has(kKey)) return config.integer({kKey}, 1, io::kLargestSize);
  if (fallback) return *fallback;
  return rope.integer({kKey}, 1, io::kLargestSize, positions);
}

std::string_view type_of(const io::JsonFields& rope) {
  return rope.string("rope_type", rope.string("type", "default"));
}

Rotary yarn(const io::JsonFields& rope, const Rotary& rotary, const RopeConfig& said, std::int64_t original) {
  if (!(rotary.base > 1)) rope.refuse("rope_theta", rotary.base, " is not above 1, which yarn needs");
  YarnStretch stretch{
      .factor =
          read_positive(rope, "factor", static_cast<double>(said.positions) / static_cast<double>(original)),
      .original = original,
      .truncate = rope.boolean("truncate", true),
      .magnitude = optional_number(rope, "attention_factor")};
  if (rope.number("beta_fast", 0) != 0) stretch.beta_fast = read_positive(rope, "beta_fast", 32);
  if (rope.number("beta_slow", 0) != 0) stretch.beta_slow = read_positive(rope, "beta_slow", 1);
  if (rope.number("mscale", 0) != 0) stretch.mscale = read_positive(rope, "mscale", 1);
  if (rope.number("mscale_all_dim", 0) != 0)
    stretch.mscale_all_dim = read_positive(rope, "mscale_all_dim", 1);
  return stretched_by_yarn(rotary, said.head_size, stretch);
}

Rotary llama3(const io::JsonFields& rope, const Rotary& rotary, const RopeConfig& said,
              std::int64_t original) {
  const Llama3Stretch stretch{.factor = required(rope, "factor"),
                              .low = required(rope, "low_freq_factor"),
                              .high = required(rope, "high_freq_factor"),
                              .original = original};
  if (!(stretch.low < stretch.high)) {
    rope.refuse("high_freq_factor", stretch.high, " is not above low_freq_factor, which is ", stretch.low);
  }
  return stretched_as_llama3(rotary, said.head_size, stretch);
}

Rotary longrope(const io::JsonFields& rope, const Rotary& rotary, const RopeConfig& said,
                std::int64_t original) {
  const std::int64_t pairs = (rotary.dimensions == 0 ? said.head_size : rotary.dimensions) / 2;
  const double factor =
      read_positive(rope, "factor", static_cast<double>(said.positions) / static_cast<double>(original));
  if (original < 2) rope.refuse("original_max_position_embeddings", original, " is too short for longrope");
  return stretched_as_longrope(rotary, {.factor = factor,
                                        .original = original,
                                        .short_divisors = divisors(rope, "short_factor", pairs),
                                        .long_divisors = divisors(rope, "long_factor", pairs),
                                        .magnitude = optional_number(rope, "attention_factor")});
}

Rotary stretched(const io::JsonFields& config, const io::JsonFields& rope, const Rotary& rotary,
                 const RopeConfig& said) {
  if (rope.has("mrope_section")) rope.refuse("mrope_section", "positions of images are not supported");
  std::string_view type = type_of(rope);
  if (said.yarn_is_longrope && (type == "su" || type == "yarn")) type = "longrope";
  if (type == "default") return rotary;
  const std::int64_t rotating = rotary.dimensions == 0 ? said.head_size : rotary.dimensions;
  if (rotating / 2 > kMostStretchedPairs) {
    rope.refuse("rope_type", "stretches ", rotating / 2, " pairs of a head, expected at most ",
                kMostStretchedPairs);
  }
  const std::int64_t original = original_length(config, rope, said.positions, said.original);
  if (type == "linear") return stretched_linearly(rotary, said.head_size, required(rope, "factor"));
  if (type == "dynamic") {
    if (rotating <= 2) rope.refuse("rope_type", "dynamic needs heads of more than 2 dimensions that rotate");
    return stretched_dynamically(rotary, required(rope, "factor"), said.positions);
  }
  if (type == "llama3") return llama3(rope, rotary, said, original);
  if (type == "yarn") return yarn(rope, rotary, said, original);
  if (type == "longrope") return longrope(rope, rotary, said, original);
  rope.refuse(rope.has("rope_type") ? "rope_type" : "type", "\"", io::shown(type),
              "\" is not one that attend supports: default, linear, dynamic, llama3, yarn, longrope");
}

// Numbers that are each possible may make impossible ones together.
bool rotates(const Rotary& rotary) {
  const auto usable = [](double number) { return number > 0 && std::isfinite(number); };
  return usable(rotary.magnitude) && std::all_of(rotary.divisors.begin(), rotary.divisors.end(), usable);
}

}  // namespace

Rotary read_rotary(const io::JsonFields& config, const RopeConfig& said) {
  const io::JsonFields* const rope = rope_object(config, said.layer_type, said.takes_scaling);
  // In the object, or else beside it, where families have names of their own.
  const auto named = [&](std::string_view key, std::string_view family_key, double fallback) {
    const double outside = read_positive(config, family_key, fallback);
    return rope == nullptr ? outside : read_positive(*rope, key, outside);
  };
  Rotary rotary{.base = named("rope_theta", said.base_key, said.base)};
  const double fraction = named("partial_rotary_factor", said.fraction_key, said.fraction);
  if (fraction > 1 || (fraction < 1 && !said.partial))
    config.refuse(said.fraction_key, fraction,
                  said.partial ? " is not between 0 and 1" : " is not supported");
  const auto rotating = static_cast<std::int64_t>(static_cast<double>(said.head_size) * fraction);
  if (rotating < 2 || rotating % 2 != 0) {
    config.refuse(fraction == 1 ? "head_dim" : said.fraction_key, rotating, " of the ", said.head_size,
                  " dimensions of a head cannot be rotated in pairs");
  }
  if (rotating != said.head_size) rotary.dimensions = rotating;
  if (rope == nullptr) return rotary;
  rotary = stretched(config, *rope, rotary, said);
  if (!rotates(rotary))
    rope->refuse("factor", "makes rotations that are not finite, with the other numbers here");
  return rotary;
}

std::int64_t stretched_positions(const io::JsonFields& config, std::int64_t positions,
                                 std::string_view layer_type) {
  const io::JsonFields* const rope = rope_object(config, layer_type);
  if (rope == nullptr) return positions;
  const std::string_view type = type_of(*rope);
  const bool known =
      rope->has("original_max_position_embeddings") || config.has("original_max_position_embeddings");
  if (type != "dynamic" && !(type == "yarn" && known)) return positions;
  const std::int64_t original =
      type == "dynamic" ? positions : original_length(config, *rope, positions, std::nullopt);
  const double longest = static_cast<double>(original) * read_positive(*rope, "factor", 1);
  return std::max(positions,
                  static_cast<std::int64_t>(std::min(longest, static_cast<double>(io::kLargestSize))));
}

}  // namespace attend::model
