#include "doctor/hidden_states.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "doctor/preparations.h"

namespace attend::doctor {
namespace {

std::span<const std::int32_t> ids_of(const TokenBatch& batch, std::int64_t text) {
  const auto begin = static_cast<std::size_t>(batch.ends[static_cast<std::size_t>(text)]);
  const auto end = static_cast<std::size_t>(batch.ends[static_cast<std::size_t>(text) + 1]);
  return std::span(batch.ids).subspan(begin, end - begin);
}

std::optional<TokenDifference> first_difference(const std::vector<Encoding>& ours, const TokenBatch& theirs) {
  for (std::int64_t text = 0; text < theirs.texts(); ++text) {
    const std::span<const std::int32_t> a(ours[static_cast<std::size_t>(text)].ids), b = ids_of(theirs, text);
    for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
      if (i < a.size() && i < b.size() && a[i] == b[i]) continue;
      TokenDifference difference{.text = text, .token = static_cast<std::int64_t>(i)};
      if (i < a.size()) difference.ours = a[i];
      if (i < b.size()) difference.theirs = b[i];
      return difference;
    }
  }
  return std::nullopt;
}

struct RowDifference {
  double distance = 0, max_abs_error = 0;
  std::int64_t element = 0;
};

RowDifference difference_of_row(const double* a, const double* b, std::int64_t size) {
  RowDifference result;
  double squares = 0, off = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    const double d = std::abs(a[i] - b[i]);
    squares += b[i] * b[i];
    off += d * d;
    if (d <= result.max_abs_error || std::isnan(result.max_abs_error)) continue;
    result.max_abs_error = d;  // the first NaN, or the largest difference
    result.element = i;
  }
  result.distance = squares > 0 ? std::sqrt(off / squares) : std::sqrt(off);
  // The reference is finite, so ours is not: infinitely far apart.
  if (!std::isfinite(result.distance)) result.distance = std::numeric_limits<double>::infinity();
  return result;
}

}  // namespace

std::optional<TokenDifference> compare_ids(const TextModel& model, std::span<const std::string> texts,
                                           const TokenBatch& reference) {
  std::optional<TokenDifference> difference =
      first_difference(encode(model, texts, usual_preparation(model)), reference);
  if (!difference) return difference;
  for (const Preparation& preparation : other_preparations(model)) {
    if (first_difference(encode(model, texts, preparation), reference)) continue;
    difference->meaning = preparation.meaning;
    break;
  }
  return difference;
}

double HiddenAgreement::distance() const {
  double largest = 0;
  for (const LayerAgreement& layer : layers) largest = std::max(largest, layer.distance);
  return largest;
}

HiddenAgreement compare_hidden(const TextModel& model, const Reference& reference) {
  const TokenBatch& all = *reference.tokens;
  const std::int64_t size = model.transformer().description().hidden_size;
  std::map<std::int64_t, LayerAgreement> layers;
  std::map<std::int64_t, HiddenDifference> firsts;  // by layer
  for (std::int64_t text = 0; text < all.texts(); ++text) {
    const std::int64_t begin = all.ends[static_cast<std::size_t>(text)];
    TokenBatch batch;
    batch.add(ids_of(all, text));
    model.transformer().forward(batch, [&](const LayerMoment& moment) {
      const auto theirs_found = reference.hidden.find(moment.layer);
      if (theirs_found == reference.hidden.end()) return;
      const Tensor ours = copy_of(moment.hidden, DType::f64);
      const Tensor theirs = copy_of(
          std::as_const(theirs_found->second).view().slice(0, begin, begin + batch.tokens()), DType::f64);
      LayerAgreement& layer = layers.try_emplace(moment.layer, LayerAgreement{moment.layer}).first->second;
      for (std::int64_t token = 0; token < batch.tokens(); ++token) {
        const double* const a = ours.values<double>().data() + token * size;
        const double* const b = theirs.values<double>().data() + token * size;
        const RowDifference row = difference_of_row(a, b, size);
        if (!(row.max_abs_error <= layer.max_abs_error)) layer.max_abs_error = row.max_abs_error;
        layer.distance = std::max(layer.distance, row.distance);
        if (token_verdict_of(row.distance) != Verdict::differs || firsts.contains(moment.layer)) continue;
        firsts[moment.layer] = {
            moment.layer,  text,
            token,         std::string(model.tokenizer().token(batch.ids[static_cast<std::size_t>(token)])),
            row.element,   a[row.element],
            b[row.element]};
      }
    });
  }
  model.require_intact();
  HiddenAgreement result;
  for (const auto& [number, layer] : layers) result.layers.push_back(layer);
  if (!firsts.empty()) result.first = firsts.begin()->second;
  return result;
}

}  // namespace attend::doctor
