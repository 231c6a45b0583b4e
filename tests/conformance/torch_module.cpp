#include "conformance/torch_module.h"

namespace attend {
namespace {

std::int64_t place_of(char which) { return which == 'q' ? 0 : which == 'k' ? 1 : 2; }

// Rows [i E, (i + 1) E) of what is stacked (3 E, ...).
ConstTensorView third(ConstTensorView stacked, char which) {
  const std::int64_t size = stacked.size(0) / 3;
  return stacked.slice(0, place_of(which) * size, (place_of(which) + 1) * size);
}

Tensor negated(const Tensor& mask) {
  Tensor result = copy_of(mask);
  for (bool& value : result.values<bool>()) value = !value;
  return result;
}

}  // namespace

ConstTensorView TorchModule::projection(const GoldenCase& golden, const std::string& prefix, char which) {
  const bool stacked = golden.has("in_proj_weight");
  const ConstTensorView weight = stacked ? third(golden.tensor(prefix + "in_proj_weight"), which)
                                         : golden.tensor(prefix + which + "_proj_weight").view();
  return weight.transposed(0, 1);
}

ConstTensorView TorchModule::projection_bias(const GoldenCase& golden, const std::string& prefix,
                                             char which) {
  if (!golden.has("in_proj_bias")) return {};
  return third(golden.tensor(prefix + "in_proj_bias"), which);
}

TorchModule::TorchModule(const GoldenCase& inputs)
    : x_(inputs.tensor("x")),
      context_(inputs.tensor(inputs.has("key") ? "key" : "x")),
      heads_(static_cast<std::int64_t>(inputs.number("num_heads"))),
      key_end_(context_.size(2)) {
  weights_ = {.wq = projection(inputs, "", 'q'),
              .wk = projection(inputs, "", 'k'),
              .wv = projection(inputs, "", 'v'),
              .wo = inputs.tensor("out_proj.weight").view().transposed(0, 1),
              .bq = projection_bias(inputs, "", 'q'),
              .bk = projection_bias(inputs, "", 'k'),
              .bv = projection_bias(inputs, "", 'v')};
  if (inputs.has("out_proj.bias")) weights_.bo = inputs.tensor("out_proj.bias");
  if (inputs.has("value")) join_keys_and_values(inputs);
  read_masks(inputs);
}

void TorchModule::join_keys_and_values(const GoldenCase& inputs) {
  const Tensor &key = inputs.tensor("key"), &value = inputs.tensor("value");
  value_begin_ = key.size(2);
  const std::int64_t columns = key.size(2) + value.size(2);
  joined_context_ = Tensor(key.dtype(), {key.size(0), key.size(1), columns});
  joined_wk_ = Tensor(key.dtype(), {columns, weights_.wk.size(1)});
  joined_wv_ = Tensor(key.dtype(), {columns, weights_.wv.size(1)});
  copy(key, joined_context_.view().slice(2, 0, key_end_));
  copy(value, joined_context_.view().slice(2, value_begin_, columns));
  copy(weights_.wk, joined_wk_.view().slice(0, 0, key_end_));
  copy(weights_.wv, joined_wv_.view().slice(0, value_begin_, columns));
  context_ = joined_context_;
  weights_.wk = joined_wk_;
  weights_.wv = joined_wv_;
}

// key_padding_mask (B, Lk); attn_mask (Lq, Lk) or (B * H, Lq, Lk), boolean or added.
void TorchModule::read_masks(const GoldenCase& inputs) {
  if (inputs.has("key_padding_mask")) {
    mask_ = negated(inputs.tensor("key_padding_mask"));
    options_.mask = mask_.view().with_axis(1).with_axis(1);
  }
  if (!inputs.has("attn_mask")) return;
  const Tensor& given = inputs.tensor("attn_mask");
  if (given.dtype() == DType::boolean) mask_ = negated(given);
  const ConstTensorView mask = given.dtype() == DType::boolean ? mask_ : given;
  (mask.dtype() == DType::boolean ? options_.mask : options_.bias) =
      mask.rank() == 3 ? mask.split(0, x_.size(0), heads_) : mask;
}

}  // namespace attend
