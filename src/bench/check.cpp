#include "bench/check.h"

#include <attend/reference.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "draw/number.h"

namespace attend::bench {
namespace {

// A gradient may be small when there are many keys, and 0 when there is only one.
double gradient_bound(double largest, double relative) { return relative * largest + 1e-6; }

Shape shape_of(const Inputs& inputs) {
  return {inputs.q.size(0), inputs.q.size(1), inputs.k.size(1),
          inputs.q.size(2), inputs.k.size(2), inputs.q.size(3)};
}

// The (1, 1, rows, d) of one head.
template <class View>
View head_of(View tensor, std::int64_t sequence, std::int64_t head) {
  return tensor.slice(0, sequence, sequence + 1).slice(1, head, head + 1);
}

template <class View>
View row_of(View tensor, const SampledRow& row) {
  return head_of(tensor, row.sequence, row.head).slice(2, row.query, row.query + 1);
}

struct OneRow {
  ConstTensorView q, k, v;
  AttentionOptions options;

  OneRow(const Inputs& inputs, const AttentionOptions& all, const SampledRow& row) : options(all) {
    const std::int64_t kv_head = row.head / (inputs.q.size(1) / inputs.k.size(1));
    q = row_of(inputs.q.view(), row);
    k = head_of(inputs.k.view(), row.sequence, kv_head);
    v = head_of(inputs.v.view(), row.sequence, kv_head);
    options.query_offset = all.query_offset.values().front() + row.query;
    const auto of_head = [&](std::vector<double>& each) {
      if (!each.empty()) each = {each[static_cast<std::size_t>(row.head)]};
    };
    of_head(options.alibi_slopes);
    of_head(options.sinks);
    if (all.mask.given()) options.mask = all.mask.slice(0, row.query, row.query + 1);
    if (all.bias.given()) options.bias = all.bias.slice(0, row.query, row.query + 1);
  }
};

void add(ConstTensorView from, TensorView to) {  // (1, 1, rows, d), f64
  for (std::int64_t i = 0; i < from.size(2); ++i) {
    for (std::int64_t c = 0; c < from.size(3); ++c) {
      to.data<double>()[i * to.stride(2) + c * to.stride(3)] +=
          from.data<double>()[i * from.stride(2) + c * from.stride(3)];
    }
  }
}

// Adds up squares.
void add_difference(const Tensor& got, const Tensor& expected, double& difference, double& length) {
  for (std::size_t c = 0; c < expected.values<double>().size(); ++c) {
    const double wanted = expected.values<double>()[c], off = got.values<double>()[c] - wanted;
    difference += off * off;
    length += wanted * wanted;
  }
}

double largest_of(const Tensor& tensor) {
  double largest = 0;
  for (const double value : tensor.values<double>()) largest = std::max(largest, std::abs(value));
  return largest;
}

}  // namespace

double require_close(const std::string& what, ConstTensorView got, ConstTensorView expected, double bound) {
  const Tensor a = copy_of(got, DType::f64), b = copy_of(expected, DType::f64);
  if (a.shape() != b.shape()) {
    throw WrongAnswer(what + " has shape " + to_string(a.shape()) + ", expected " + to_string(b.shape()));
  }
  double largest = 0;
  for (std::size_t i = 0; i < a.values<double>().size(); ++i) {
    const double apart = std::abs(a.values<double>()[i] - b.values<double>()[i]);
    if (!(apart <= largest)) largest = apart;  // a NaN stays
    if (std::isnan(largest)) break;
  }
  if (!(largest <= bound)) {
    throw WrongAnswer(what + " differs from float64 by " + draw::format_short(largest) + ", more than " +
                      draw::format_short(bound));
  }
  return largest;
}

std::vector<SampledRow> sample_rows(const Shape& shape) {
  constexpr std::int64_t kMost = 16,
                         kStep = 5;  // coprime with 16, so that rows and heads do not move in step
  const std::int64_t heads = shape.b * shape.hq;
  const std::int64_t count = std::min(kMost, heads * shape.lq);
  std::vector<SampledRow> rows;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t query = count == 1 ? 0 : i * (shape.lq - 1) / (count - 1);
    const std::int64_t head = i * kStep % kMost * (heads - 1) / (kMost - 1);
    rows.push_back({head / shape.hq, head % shape.hq, query});
  }
  const auto order = [](const SampledRow& a, const SampledRow& b) {
    return std::tie(a.sequence, a.head, a.query) < std::tie(b.sequence, b.head, b.query);
  };
  const auto equal = [&](const SampledRow& a, const SampledRow& b) { return !order(a, b) && !order(b, a); };
  std::sort(rows.begin(), rows.end(), order);
  rows.erase(std::unique(rows.begin(), rows.end(), equal), rows.end());
  return rows;
}

double check_output(const std::string& what, const Inputs& inputs, const AttentionOptions& options,
                    ConstTensorView out, double bound) {
  double error = 0;
  for (const SampledRow& row : sample_rows(shape_of(inputs))) {
    const OneRow one(inputs, options, row);
    Tensor expected(DType::f64, {1, 1, 1, inputs.v.size(3)});
    reference::attention(one.q, one.k, one.v, one.options, expected);
    error = std::max(error, require_close(what, row_of(out, row), expected, bound));
  }
  return error;
}

namespace {

bool multiplies_bf16(const Inputs& inputs, const AttentionOptions& options) {
  return attention_kernel(inputs.q, inputs.k, options).name.ends_with("bf16");
}

}  // namespace

double output_bound(const Inputs& inputs, const AttentionOptions& options) {
  return multiplies_bf16(inputs, options) ? 4e-3 : 1e-5;
}
double gradients_bound(const Inputs& inputs, const AttentionOptions& options) {
  return multiplies_bf16(inputs, options) ? 2e-2 : 1e-4;
}

double relative_error(const Inputs& inputs, const AttentionOptions& options, ConstTensorView out) {
  double difference = 0, length = 0;
  for (const SampledRow& row : sample_rows(shape_of(inputs))) {
    const OneRow one(inputs, options, row);
    Tensor expected(DType::f64, {1, 1, 1, inputs.v.size(3)});
    reference::attention(one.q, one.k, one.v, one.options, expected);
    add_difference(copy_of(row_of(out, row), DType::f64), expected, difference, length);
  }
  return std::sqrt(difference / length);
}

namespace {

// Calls look(which, gradient, float64) for what is compared of the gradients: rows of q, all of k and v.
template <class Look>
void for_each_gradient(const Inputs& inputs, const AttentionOptions& options, const BackwardCall& backward,
                       const Look& look) {
  const Shape shape = shape_of(inputs);
  const Dims out_shape = {shape.b, shape.hq, shape.lq, inputs.v.size(3)};
  const Tensor dense = random_tensor(DType::f32, out_shape, 4);
  Tensor sparse(DType::f32, out_shape);
  Tensor d_k(DType::f64, inputs.k.shape()), d_v(DType::f64, inputs.v.shape());

  const Gradients of_dense = backward(dense);
  for (const SampledRow& row : sample_rows(shape)) {
    const OneRow one(inputs, options, row);
    copy(row_of(dense.view(), row), row_of(sparse.view(), row));
    Tensor q(DType::f64, one.q.shape()), k(DType::f64, one.k.shape()), v(DType::f64, one.v.shape());
    reference::attention_backward(one.q, one.k, one.v, one.options, row_of(dense.view(), row),
                                  {.q = q, .k = k, .v = v});
    look(", d_q", row_of(of_dense.q.view(), row), q);
    const std::int64_t kv_head = row.head / (shape.hq / shape.hkv);
    add(k, head_of(d_k.view(), row.sequence, kv_head));
    add(v, head_of(d_v.view(), row.sequence, kv_head));
  }
  const Gradients of_sparse = backward(sparse);
  look(", d_k", of_sparse.k, d_k);
  look(", d_v", of_sparse.v, d_v);
}

}  // namespace

double check_backward(const std::string& what, const Inputs& inputs, const AttentionOptions& options,
                      const BackwardCall& backward, double relative) {
  double error = 0;
  for_each_gradient(inputs, options, backward,
                    [&](const char* name, ConstTensorView got, const Tensor& expected) {
                      const double bound = gradient_bound(largest_of(expected), relative);
                      error = std::max(error, require_close(what + name, got, expected, bound));
                    });
  return error;
}

double relative_error_of_gradients(const Inputs& inputs, const AttentionOptions& options,
                                   const BackwardCall& backward) {
  double difference = 0, length = 0;
  for_each_gradient(inputs, options, backward, [&](const char*, ConstTensorView got, const Tensor& expected) {
    add_difference(copy_of(got, DType::f64), expected, difference, length);
  });
  return std::sqrt(difference / length);
}

}  // namespace attend::bench
