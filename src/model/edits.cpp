#include "model/edits.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <vector>

#include "base/check.h"
#include "base/counting.h"
#include "base/rows.h"

namespace attend::model {
namespace {

constexpr const char* kEditOperation = "model";

// The names of an edit's fields, for error messages: edits.heads[2].layer.
class Field {
 public:
  Field(const char* list, std::size_t index) : name_(joined("edits.", list, "[", index, "].")) {}

  std::string named(const char* field) const { return name_ + field; }

  // thing: "layer" or "head", as the field is called.
  void require_number_of(const char* thing, std::int64_t value, std::int64_t count) const {
    if (!is_number(value, count)) refuse(kEditOperation, out_of_count(name_ + thing, thing, value, count));
  }
  void require_index(const char* field, std::int64_t value, std::int64_t count, const char* things) const {
    if (value >= 0 && value < count) return;
    refuse(kEditOperation, name_, field, " is ", value, ", but there are ", count, " ", things,
           ", counted from 0");
  }
  void require_finite(double scale) const {
    if (!std::isfinite(scale))
      refuse(kEditOperation, name_, "scale is ", scale, ", expected a finite number");
  }

 private:
  std::string name_;
};

void require_f32(const std::string& name, ConstTensorView view) {
  if (view.dtype() != DType::f32)
    refuse(kEditOperation, name, " is ", name_of(view.dtype()), ", expected f32");
}

std::int64_t tokens_of(const TokenBatch& batch, std::int64_t text) {
  const auto index = static_cast<std::size_t>(text);
  return batch.ends[index + 1] - batch.ends[index];
}

// One weight of one head, and the factor that scales it.
struct WeightFactor {
  std::int64_t text, head_index, query, key;
  double scale;

  auto operator<=>(const WeightFactor&) const = default;
  bool same_row(const WeightFactor& other) const {
    return text == other.text && head_index == other.head_index && query == other.query;
  }
};

// Those of one layer, in an order that does not depend on that of the edits: products and sums then have the
// same bits however they were listed.
std::vector<WeightFactor> factors_of(const std::vector<EdgeEdit>& edges, std::int64_t layer,
                                     std::int64_t heads) {
  std::vector<WeightFactor> factors;
  for (const EdgeEdit& edge : edges) {
    if (edge.layer != EdgeEdit::kEveryLayer && edge.layer != layer) continue;
    for (std::int64_t head = 1; head <= heads; ++head) {
      if (edge.head == EdgeEdit::kEveryHead || edge.head == head)
        factors.push_back({edge.text, head - 1, edge.query, edge.key, edge.scale});
    }
  }
  std::sort(factors.begin(), factors.end());
  return factors;
}

using Factors = std::vector<WeightFactor>::const_iterator;

// The factors [factor, last), all of one row.
void edit_row(const LayerMoment& moment, Factors factor, Factors last, TensorView attended) {
  const WeightFactor row = *factor;
  const std::int64_t begin = moment.options.cumulative_query_lengths[static_cast<std::size_t>(row.text)];
  const Tensor weights = attention_rows(
      moment.q, moment.k, moment.options, Stage::weights,
      {.sequences = {row.text}, .heads = {row.head_index}, .rows = {row.query}}, moment.row_state);
  std::vector<double> change(static_cast<std::size_t>(attended.size(2)));
  bool changed = false;
  const std::int64_t group = attended.size(1) / moment.v.size(1);  // queries that share keys and values
  while (factor != last) {
    const std::int64_t key = factor->key;
    double scale = 1;
    for (; factor != last && factor->key == key; ++factor) scale *= factor->scale;
    const double more = (scale - 1) * weights.values<float>()[static_cast<std::size_t>(key)];
    if (more == 0) continue;  // a factor of 1, or a key that takes no part
    const ConstTensorView value = moment.v.select(0, begin + key).select(0, row.head_index / group);
    for (std::size_t d = 0; d < change.size(); ++d)
      change[d] += more * value.data<float>()[static_cast<std::int64_t>(d) * value.stride(0)];
    changed = true;
  }
  if (!changed) return;
  const TensorView target = attended.select(0, begin + row.query).select(0, row.head_index);
  for (std::size_t d = 0; d < change.size(); ++d) {
    float& element = target.data<float>()[static_cast<std::int64_t>(d) * target.stride(0)];
    element = static_cast<float>(element + change[d]);
  }
}

void apply_patch(const HeadPatch& patch, const LayerMoment& moment, TensorView attended) {
  const std::vector<std::int64_t>& ends = moment.options.cumulative_query_lengths;
  const auto text = static_cast<std::size_t>(patch.text);
  const TensorView head = attended.slice(0, ends[text], ends[text + 1]).select(1, patch.head - 1);
  if (!patch.token) return copy(patch.values, head);
  copy(patch.values.slice(0, *patch.token, *patch.token + 1), head.slice(0, *patch.token, *patch.token + 1));
}

void scale_head(TensorView values, double scale) {
  const auto factor = static_cast<float>(scale);
  float* const data = values.data<float>();
  for_each_row(row_count(values), row_size(values), [&](std::int64_t row, int) noexcept {
    float* const element = data + row * values.stride(0);
    for (std::int64_t d = 0; d < values.size(1); ++d) {
      float& x = element[d * values.stride(1)];
      x = factor == 0 ? 0 : x * factor;  // a head that is taken out leaves no NaN
    }
  });
}

}  // namespace

void check_edits(const PassEdits& edits, const ModelDescription& description, const TokenBatch& batch) {
  if (edits.start) {
    const PassStart& start = *edits.start;
    if (start.layer < 0 || start.layer > description.layer_count())
      refuse(kEditOperation, "edits.start.layer is ", start.layer, ", expected 0 to ",
             description.layer_count());
    require_shape(kEditOperation, {"edits.start.hidden", start.hidden},
                  {batch.tokens(), description.hidden_size});
    require_f32("edits.start.hidden", start.hidden);
  }
  for (std::size_t i = 0; i < edits.patches.size(); ++i) {
    const Field field("patches", i);
    const HeadPatch& patch = edits.patches[i];
    field.require_number_of("layer", patch.layer, description.layer_count());
    field.require_number_of("head", patch.head, description.heads());
    field.require_index("text", patch.text, batch.texts(), "texts");
    const std::int64_t tokens = tokens_of(batch, patch.text);
    if (patch.token) field.require_index("token", *patch.token, tokens, "tokens in its text");
    const std::string values = field.named("values");
    require_shape(kEditOperation, {values.c_str(), patch.values},
                  {tokens, description.layer(patch.layer).attention.head_size});
    require_f32(values, patch.values);
  }
  for (std::size_t i = 0; i < edits.heads.size(); ++i) {
    const Field field("heads", i);
    const HeadEdit& edit = edits.heads[i];
    field.require_number_of("layer", edit.layer, description.layer_count());
    field.require_number_of("head", edit.head, description.heads());
    field.require_finite(edit.scale);
  }
  for (std::size_t i = 0; i < edits.edges.size(); ++i) {
    const Field field("edges", i);
    const EdgeEdit& edit = edits.edges[i];
    if (edit.layer != EdgeEdit::kEveryLayer)
      field.require_number_of("layer", edit.layer, description.layer_count());
    if (edit.head != EdgeEdit::kEveryHead) field.require_number_of("head", edit.head, description.heads());
    field.require_index("text", edit.text, batch.texts(), "texts");
    const std::int64_t tokens = tokens_of(batch, edit.text);
    field.require_index("query", edit.query, tokens, "tokens in its text");
    field.require_index("key", edit.key, tokens, "tokens in its text");
    field.require_finite(edit.scale);
  }
}

void apply_edits(const PassEdits& edits, const LayerMoment& moment, TensorView attended) {
  const std::int64_t heads = attended.size(1);
  for (const HeadPatch& patch : edits.patches) {
    if (patch.layer == moment.layer) apply_patch(patch, moment, attended);
  }
  const std::vector<WeightFactor> factors = factors_of(edits.edges, moment.layer, heads);
  for (auto first = factors.begin(); first != factors.end();) {
    const auto last = std::find_if_not(first, factors.end(),
                                       [&](const WeightFactor& other) { return other.same_row(*first); });
    edit_row(moment, first, last, attended);
    first = last;
  }

  std::vector<HeadEdit> of_layer;
  for (const HeadEdit& edit : edits.heads) {
    if (edit.layer == moment.layer) of_layer.push_back(edit);
  }
  std::sort(of_layer.begin(), of_layer.end(),
            [](const HeadEdit& a, const HeadEdit& b) { return a.scale < b.scale; });
  std::vector<double> scales(static_cast<std::size_t>(heads), 1.0);
  for (const HeadEdit& edit : of_layer) scales[static_cast<std::size_t>(edit.head) - 1] *= edit.scale;
  for (std::int64_t index = 0; index < heads; ++index) {
    const double scale = scales[static_cast<std::size_t>(index)];
    if (scale != 1) scale_head(attended.select(1, index), scale);
  }
}

}  // namespace attend::model
