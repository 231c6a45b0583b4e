#include "lens/recording_check.h"

#include <cmath>
#include <limits>

#include "base/error.h"
#include "io/utf8.h"

namespace attend::lens {
namespace {

constexpr std::size_t kMostRecordedLayers = 4096;
// Opening a recording takes n² steps a head, for the sums of its rows.
constexpr std::int64_t kMostRecordedTokens = std::int64_t{1} << 17, kMostRecordedHeads = 4096,
                       kLargestRecordedHead = std::int64_t{1} << 16;

std::string shape_text(ConstTensorView view) {
  std::string text = "(";
  for (int axis = 0; axis < view.rank(); ++axis) text += joined(axis > 0 ? ", " : "", view.size(axis));
  return text + ")";
}

// Attention computes in float32.
bool fits(double number) {
  return std::abs(number) <= static_cast<double>(std::numeric_limits<float>::max());
}

// Reports through return values: the first fault ends the search.
using Fault = std::optional<RecordingFault>;

template <class... Parts>
Fault fault(const std::string& where, const Parts&... parts) {
  return RecordingFault{where, joined(parts...)};
}

class LayerCheck {
 public:
  LayerCheck(const RecordedLayer& layer, std::size_t number, std::int64_t n)
      : layer_(layer), prefix_(joined("layer.", number, ".")), n_(n) {}

  // The number of its heads goes to `heads`.
  Fault find(std::int64_t& heads) const {
    const bool by_weights = layer_.weights.count() > 0;
    if (by_weights == (layer_.q.count() > 0))
      return fault(prefix_ + "q", "expected queries, keys and values, or the weights in their place");
    heads = by_weights ? layer_.weights.size(0) : layer_.q.rank() == 3 ? layer_.q.size(1) : 0;
    if (const Fault found = by_weights ? find_in_weights() : find_in_queries()) return found;
    return find_in_options(heads);
  }

 private:
  Fault wrong_shape(const char* part, ConstTensorView view, const std::string& expected) const {
    return fault(prefix_ + part, "has the shape ", shape_text(view), ", expected ", expected);
  }

  Fault find_in_weights() const {
    const ConstTensorView weights = layer_.weights;
    if (weights.dtype() != DType::f32) return fault(prefix_ + "weights", "expected float32");
    if (weights.rank() != 3 || weights.size(1) != n_ || weights.size(2) != n_ ||
        weights.size(0) > kMostRecordedHeads)
      return wrong_shape("weights", weights, joined("(heads, ", n_, ", ", n_, ")"));
    for (const float weight : layer_.weights.values<float>()) {
      if (!(weight >= 0 && weight <= 1.001F))
        return fault(prefix_ + "weights", "holds ", weight, ", expected numbers from 0 to 1");
    }
    if (layer_.k.count() > 0 || layer_.v.count() > 0 || layer_.mask.count() > 0 || layer_.bias.count() > 0 ||
        layer_.causal || layer_.softcap != 0 || layer_.scale || !layer_.sinks.empty() ||
        !layer_.alibi_slopes.empty() || layer_.window.left >= 0 || layer_.window.right >= 0)
      return fault(prefix_ + "weights", "are what attention gave, so there is nothing else to apply");
    return std::nullopt;
  }

  Fault find_in_queries() const {
    const ConstTensorView q = layer_.q, k = layer_.k, v = layer_.v;
    if (q.rank() != 3 || q.size(0) != n_ || q.size(1) > kMostRecordedHeads ||
        q.size(2) > kLargestRecordedHead)
      return wrong_shape("q", q, joined("(", n_, ", heads, head size)"));
    if (k.rank() != 3 || k.size(0) != n_ || k.size(2) != q.size(2) || k.size(1) == 0 ||
        q.size(1) % k.size(1) != 0)
      return wrong_shape("k", k, joined("(", n_, ", a divisor of ", q.size(1), ", ", q.size(2), ")"));
    if (v.rank() != 3 || v.size(0) != n_ || v.size(1) != k.size(1) || v.size(2) < 1 ||
        v.size(2) > kLargestRecordedHead)
      return wrong_shape("v", v, joined("(", n_, ", ", k.size(1), ", value size)"));
    const std::pair<ConstTensorView, const char*> parts[] = {{q, "q"}, {k, "k"}, {v, "v"}};
    for (const auto& [view, name] : parts)
      if (view.dtype() != DType::f32) return fault(prefix_ + name, "expected float32");
    return std::nullopt;
  }

  Fault find_in_options(std::int64_t heads) const {
    for (const auto& [numbers, name] :
         {std::pair(&layer_.sinks, "sinks"), std::pair(&layer_.alibi_slopes, "alibi_slopes")}) {
      if (!numbers->empty() && static_cast<std::int64_t>(numbers->size()) != heads)
        return fault(prefix_ + name, "has ", numbers->size(), " numbers, expected one for each of ", heads,
                     " heads");
      for (const double number : *numbers)
        if (!fits(number))
          return fault(prefix_ + name, "holds ", number, ", expected finite numbers of float32");
    }
    if (layer_.scale && !fits(*layer_.scale))
      return fault(prefix_ + "scale", "is ", *layer_.scale, ", expected a finite number of float32");
    if (layer_.softcap != 0 && !(layer_.softcap >= std::numeric_limits<float>::min() && fits(layer_.softcap)))
      return fault(prefix_ + "softcap", "is ", layer_.softcap, ", expected a positive number, or 0 for none");
    if (layer_.window.left < Window::kUnlimited || layer_.window.right < Window::kUnlimited)
      return fault(prefix_ + "window", "is ", layer_.window.left, " ", layer_.window.right,
                   ", expected -1 or more");
    const std::pair<ConstTensorView, DType> squares[] = {{layer_.mask, DType::boolean},
                                                         {layer_.bias, DType::f32}};
    for (const auto& [view, dtype] : squares) {
      const char* const name = dtype == DType::f32 ? "bias" : "mask";
      if (view.count() == 0) continue;
      if (view.dtype() != dtype) return fault(prefix_ + name, "expected ", name_of(dtype));
      if (view.rank() != 3 || (view.size(0) != 1 && view.size(0) != heads) || view.size(1) != n_ ||
          view.size(2) != n_)
        return wrong_shape(name, view, joined("(1 or ", heads, ", ", n_, ", ", n_, ")"));
    }
    return std::nullopt;
  }

  const RecordedLayer& layer_;
  std::string prefix_;
  std::int64_t n_;
};

Fault find_in_tokens(const Recording& recording) {
  const auto n = static_cast<std::int64_t>(recording.tokens.size());
  if (n < 1 || n > kMostRecordedTokens)
    return fault("tokens", "there are ", n, ", expected 1 to ", kMostRecordedTokens);
  for (const auto& [text, name] : {std::pair(&recording.text, "text"), std::pair(&recording.model, "model"),
                                   std::pair(&recording.family, "family")})
    if (!io::is_utf8(*text)) return fault(name, "is not UTF-8");
  const auto characters = static_cast<std::int64_t>(io::count_chars(recording.text));
  for (std::size_t t = 0; t < recording.tokens.size(); ++t) {
    const RecordedToken& token = recording.tokens[t];
    if (!io::is_utf8(token.text)) return fault("tokens", "token ", t, " is not UTF-8");
    if (token.place.begin < 0 || token.place.end < token.place.begin || token.place.end > characters)
      return fault("places", "token ", t, " stands at ", token.place.begin, " to ", token.place.end,
                   " of a text of ", characters, " characters");
  }
  return std::nullopt;
}

}  // namespace

std::optional<RecordingFault> find_fault(const Recording& recording) {
  if (const Fault found = find_in_tokens(recording)) return found;
  const std::size_t layers = recording.layers.size();
  if (layers < 1 || layers > kMostRecordedLayers)
    return fault("layers", "there are ", layers, ", expected 1 to ", kMostRecordedLayers);
  std::int64_t first = 0;
  for (std::size_t l = 0; l < layers; ++l) {
    std::int64_t heads = 0;
    const LayerCheck check(recording.layers[l], l + 1, static_cast<std::int64_t>(recording.tokens.size()));
    if (const Fault found = check.find(heads)) return found;
    if (l == 0) first = heads;
    if (heads != first)
      return fault(joined("layer.", l + 1), "has ", heads, " heads, but layer 1 has ", first,
                   "; all layers of a recording have the same number");
    if (!io::is_utf8(recording.layers[l].name))
      return fault(joined("layer.", l + 1, ".name"), "is not UTF-8");
  }
  return std::nullopt;
}

void require_sound(const Recording& recording) {
  if (const auto found = find_fault(recording)) refuse("recording", found->where, ": ", found->rule);
}

}  // namespace attend::lens
