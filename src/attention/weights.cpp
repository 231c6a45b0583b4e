// Weights on demand: what may be asked for, and the shape of the answer.
#include <attend/reference_attention.h>
#include <attend/weights.h>

#include <limits>

#include "attention/kernels.h"
#include "attention/operands.h"
#include "base/error.h"
#include "base/operations.h"

namespace attend {
namespace {

// Of a map, so that an index times a length fits 64 bits; and of keys, which top_k counts in 32 bits.
constexpr std::int64_t kLongest = std::numeric_limits<std::int32_t>::max();

void check_request(const char* operation, const WeightsRequest& request, const Layout& layout) {
  if (request.top_k > 0 && layout.longest_keys > kLongest) {
    refuse(operation, "top_k looks at up to ", kLongest, " keys, there are ", layout.longest_keys);
  }
  const auto side = [&](const char* name, std::int64_t size) {
    if (size < 0 || size > kLongest) refuse(operation, name, " is ", size, ", expected 0 to ", kLongest);
  };
  side("top_k", request.top_k);
  side("map_rows", request.map_rows);
  side("map_columns", request.map_columns);
  if ((request.map_rows == 0) != (request.map_columns == 0)) {
    refuse(operation, "a map of ", request.map_rows, " rows and ", request.map_columns,
           " columns has no cells");
  }
}

}  // namespace

WeightsSummary detail::answers_wanted(const Layout& layout, ConstTensorView q, ConstTensorView k,
                                      DType number, const WeightsRequest& request) {
  WeightsSummary summary;
  const Device device = q.device();
  const int last = q.rank() - 1;
  if (request.top_k > 0) {
    Dims shape = q.shape();
    shape[last] = request.top_k;
    summary.top_keys = Tensor(DType::i64, shape, device);
    summary.top_weights = Tensor(number, shape, device);
  }
  if (request.received) {
    summary.received = layout.packed ? Tensor(number, {k.size(0), layout.query_heads}, device)
                                     : Tensor(number, {q.size(0), layout.query_heads, k.size(2)}, device);
  }
  if (request.entropy) summary.entropy = Tensor(number, q.shape().without(last), device);
  if (request.map_rows > 0) {
    summary.map = Tensor(number,
                         {static_cast<std::int64_t>(layout.sequences.size()), layout.query_heads,
                          request.map_rows, request.map_columns},
                         device);
  }
  return summary;
}

WeightsSummary summarize_weights(ConstTensorView q, ConstTensorView k, const AttentionOptions& options,
                                 const WeightsRequest& request, ConstRowStateView row_state) {
  const char* const operation = "summarize_weights";
  const Layout layout = check_attention(operation, q, k, {}, options);
  check_given_row_state(operation, row_state, q, computing_type(q.dtype()));
  check_request(operation, request, layout);
  const auto run = on_device(operation, &Operations::summarize_weights,
                             attention_operands(q, k, {}, options, {}, row_state));
  WeightsSummary summary = answers_wanted(layout, q, k, computing_type(q.dtype()), request);
  run(layout, q, k, options, request, row_state, summary);
  return summary;
}

WeightsSummary reference::summarize_weights(ConstTensorView q, ConstTensorView k,
                                            const AttentionOptions& options, const WeightsRequest& request) {
  const char* const operation = "reference::summarize_weights";
  const Layout layout = check_attention(operation, q, k, {}, options);
  check_request(operation, request, layout);
  require_host(operation, attention_operands(q, k, {}, options));
  WeightsSummary summary = answers_wanted(layout, q, k, DType::f64, request);
  reference_kernel().summarize(layout, q, k, options, request, {}, summary);
  return summary;
}

}  // namespace attend
