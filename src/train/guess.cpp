// How a model guesses tokens: from the vectors that leave it to the loss of their logits, and back.
#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/rows.h"
#include "nn/linear_gradient.h"
#include "train/model.h"

namespace attend::train {
namespace {

constexpr const char* kGuessOperation = "train";

// Rows whose numbers lie side by side: row from_row(i) becomes row to_row(i), for i below `count`.
template <class FromRow, class ToRow>
void copy_rows(ConstTensorView from, TensorView to, std::int64_t count, const FromRow& from_row,
               const ToRow& to_row) {
  const auto size = static_cast<std::int64_t>(size_of(from.dtype()));
  const auto* const source = static_cast<const char*>(from.raw());
  auto* const target = static_cast<char*>(to.raw());
  const std::int64_t n = from.size(1);
  detail::for_each_row(count, n, [&](std::int64_t i, int) noexcept {
    std::memcpy(target + to_row(i) * to.stride(0) * size, source + from_row(i) * from.stride(0) * size,
                static_cast<std::size_t>(n * size));
  });
}

// Rows of `from`, one after the other in `to`; or back.
void gather(ConstTensorView from, std::span<const std::int64_t> rows, TensorView to) {
  copy_rows(
      from, to, std::ssize(rows), [&](std::int64_t i) { return rows[static_cast<std::size_t>(i)]; },
      [](std::int64_t i) { return i; });
}
void scatter(ConstTensorView from, std::span<const std::int64_t> rows, TensorView to) {
  copy_rows(
      from, to, std::ssize(rows), [](std::int64_t i) { return i; },
      [&](std::int64_t i) { return rows[static_cast<std::size_t>(i)]; });
}

}  // namespace

void Model::check_targets(const Batch& batch) const {
  if (batch.targets.size() == batch.tokens.ids.size()) return;
  refuse(kGuessOperation, "a batch has ", batch.targets.size(), " targets for ", batch.tokens.ids.size(),
         " tokens");
}

void Model::require_output() const {
  if (!options_.guesses) refuse(kGuessOperation, "the model has no output layer, so it cannot guess tokens");
}

model::Operand Model::output_matrix() {
  if (room_.as == PackedAs::bf16)
    return packed_.operand(description_.tied_output ? places_.words : places_.output);
  const ConstTensorView matrix = description_.tied_output ? parameters_.value(places_.words).transposed(0, 1)
                                                          : parameters_.value(places_.output);
  return {matrix, room_.packed};
}

CrossEntropy Model::guess(ConstTensorView hidden, std::span<const std::int32_t> targets, double weight,
                          TensorView d_hidden) {
  std::vector<std::int64_t> rows;
  std::vector<std::int32_t> wanted;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (targets[i] == kNoTarget) continue;
    rows.push_back(static_cast<std::int64_t>(i));
    wanted.push_back(targets[i]);
  }
  CrossEntropy total;
  if (rows.empty()) return total;
  require_output();
  const auto most = static_cast<std::size_t>(picked_.size(0));
  for (std::size_t first = 0; first < rows.size(); first += most) {
    const std::size_t count = std::min(most, rows.size() - first);
    const auto some = std::span(rows).subspan(first, count);
    const TensorView picked = first_rows(picked_, static_cast<std::int64_t>(count));
    const TensorView logits = first_rows(logits_, static_cast<std::int64_t>(count));
    gather(hidden, some, picked);
    output_matrix().multiply(picked, logits);
    const CrossEntropy part = cross_entropy(logits, std::span(wanted).subspan(first, count), weight,
                                            d_hidden.given() ? logits : TensorView());
    total.loss += part.loss;
    total.counted += part.counted;
    total.right += part.right;
    if (!d_hidden.given()) continue;
    if (description_.tied_output) {
      add_linear_gradient(logits, picked, parameters_.gradient(places_.words), {}, room_.sums, room_.as);
    } else {
      add_linear_gradient(picked, logits, parameters_.gradient(places_.output), {}, room_.sums, room_.as);
    }
    output_matrix().multiply_transposed(logits, picked);
    scatter(picked, some, d_hidden);
  }
  return total;
}

CrossEntropy Model::evaluate(const Batch& batch, const LayerObserver& observer) {
  check_targets(batch);
  return guess(hidden(batch, observer), batch.targets, 1, {});
}

Tensor Model::logits(const Batch& batch, std::int64_t row) {
  require_output();
  const ConstTensorView seen = hidden(batch);
  Tensor out(parameters_.dtype(), {1, description_.vocabulary_size});
  output_matrix().multiply(seen.slice(0, row, row + 1), out);
  return out;
}

CrossEntropy Model::learn(const Batch& batch, double weight, std::uint64_t seed) {
  check_targets(batch);
  CrossEntropy loss;
  learn_from_hidden(
      batch,
      [&](ConstTensorView hidden, TensorView d_hidden) {
        loss = guess(hidden, batch.targets, weight, d_hidden);
      },
      seed);
  return loss;
}

}  // namespace attend::train
