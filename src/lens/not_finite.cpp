#include "lens/not_finite.h"

#include <bit>
#include <cstdint>

#include "base/error.h"

namespace attend {
namespace lens {
namespace {

// By the exponent's bits: whole vectors at a time, where comparisons of floats would go one by one.
bool all_finite(const float* values, std::int64_t count) {
  constexpr std::uint32_t kExponent = 0x7F800000;
  std::uint32_t bad = 0;
  for (std::int64_t i = 0; i < count; ++i)
    bad |= static_cast<std::uint32_t>((std::bit_cast<std::uint32_t>(values[i]) & kExponent) == kExponent);
  return bad == 0;
}

// (tokens, E) or (tokens, H, D), f32, whose last axis is packed.
std::optional<std::int64_t> first_bad_token(ConstTensorView view) {
  const bool heads = view.rank() == 3;
  const std::int64_t parts = heads ? view.size(1) : 1, stride = heads ? view.stride(1) : 0;
  for (std::int64_t token = 0; view.given() && token < view.size(0); ++token) {
    for (std::int64_t part = 0; part < parts; ++part) {
      const float* const values = view.data<float>() + token * view.stride(0) + part * stride;
      if (!all_finite(values, view.size(view.rank() - 1))) return token;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<NotFinite> find_not_finite(const LayerMoment& moment) {
  const std::pair<ConstTensorView, const char*> parts[] = {
      {moment.q, "queries"},
      {moment.k, "keys"},
      {moment.v, "values"},
      {moment.attended, "attended values"},
      {moment.hidden, moment.layer == 0 ? "embeddings" : "output"}};
  for (const auto& [view, name] : parts) {
    if (const auto token = first_bad_token(view)) return NotFinite{moment.layer, name, *token};
  }
  return std::nullopt;
}

}  // namespace lens

std::string sentence_of(const Reading& reading, const NotFinite& where) {
  return joined("Not all numbers are finite: NaN or infinity first appears in the ", where.part,
                where.layer == 0 ? "" : joined(" of layer ", reading.layer_name(where.layer)), ", at token ",
                where.token, " (", reading.token_name(where.token), ").");
}

}  // namespace attend
