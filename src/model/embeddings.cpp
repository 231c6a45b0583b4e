#include "model/embeddings.h"

#include "base/error.h"
#include "base/rows.h"

namespace attend {
namespace {

constexpr const char* kOperation = "encoder";

void check_batch(const TokenBatch& batch, const ModelConfig& config) {
  const auto tokens = batch.tokens();
  if (batch.ends.empty() || batch.ends.front() != 0 || batch.ends.back() != tokens) {
    refuse(kOperation, "the ends of a batch must start at 0 and end at its ", tokens, " tokens");
  }
  if (!batch.types.empty() && batch.types.size() != batch.ids.size()) {
    refuse(kOperation, "got ", batch.types.size(), " types for ", tokens, " tokens");
  }
  for (std::size_t s = 0; s + 1 < batch.ends.size(); ++s) {
    const std::int64_t length = batch.ends[s + 1] - batch.ends[s];
    if (length < 0) refuse(kOperation, "the ends of a batch must not go down, but do after text ", s);
    if (length > config.max_tokens()) {
      refuse(kOperation, "text ", s, " has ", length, " tokens, and the model has positions for ",
             config.max_tokens());
    }
  }
  for (std::size_t i = 0; i < batch.ids.size(); ++i) {
    if (batch.ids[i] < 0 || batch.ids[i] >= config.vocabulary_size) {
      refuse(kOperation, "id ", batch.ids[i], " of token ", i, " is outside the vocabulary of ",
             config.vocabulary_size);
    }
    if (config.token_types > 0 && !batch.types.empty() &&
        (batch.types[i] < 0 || batch.types[i] >= config.token_types)) {
      refuse(kOperation, "type ", batch.types[i], " of token ", i, " is not one of the model's ",
             config.token_types);
    }
  }
}

template <class T>
void add_row(const T* from, std::int64_t n, float* to) noexcept {
  for (std::int64_t j = 0; j < n; ++j) to[j] += static_cast<float>(widen(from[j]));
}

void add_row(ConstTensorView table, std::int64_t row, float* to) noexcept {
  const std::int64_t n = table.size(1);
  const auto at = [&]<class T>(const T*) {
    return static_cast<const T*>(table.raw()) + row * table.stride(0);
  };
  switch (table.dtype()) {
    case DType::f32:
      return add_row(at(static_cast<const float*>(nullptr)), n, to);
    case DType::f64:
      return add_row(at(static_cast<const double*>(nullptr)), n, to);
    case DType::bf16:
      return add_row(at(static_cast<const bfloat16*>(nullptr)), n, to);
    case DType::f16:
      return add_row(at(static_cast<const float16*>(nullptr)), n, to);
    default:
      return;
  }
}

}  // namespace

void embed_tokens(const TokenBatch& batch, const ModelConfig& config, ConstTensorView words,
                  ConstTensorView types, ConstTensorView positions, TensorView out) {
  check_batch(batch, config);
  std::vector<std::int64_t> places(batch.ids.size());
  for (std::size_t s = 0; s + 1 < batch.ends.size(); ++s) {
    for (std::int64_t i = batch.ends[s]; i < batch.ends[s + 1]; ++i) {
      places[static_cast<std::size_t>(i)] = i - batch.ends[s] + config.first_position;
    }
  }
  float* const data = out.data<float>();
  for_each_row(batch.tokens(), config.hidden_size, [&](std::int64_t row, int) noexcept {
    const auto i = static_cast<std::size_t>(row);
    float* const to = data + row * out.stride(0);
    std::fill(to, to + config.hidden_size, 0.0F);
    add_row(words, batch.ids[i], to);
    if (types.given()) add_row(types, batch.types.empty() ? 0 : batch.types[i], to);
    add_row(positions, places[i], to);
  });
}

}  // namespace attend
