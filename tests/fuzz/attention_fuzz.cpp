// Any shapes and options, with NaN sprinkled over the inputs: fp32 must agree with float64, forward and
// backward, in value and in where NaN appears.
#include <attend/isa.h>
#include <attend/reference.h>
#include <attend/weights.h>
#include <fuzzer/FuzzedDataProvider.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "support/attention_case.h"
#include "support/compare.h"
#include "support/gradient_set.h"

namespace {

using namespace attend;

AttentionCase case_from(FuzzedDataProvider& data) {
  const auto below = [&](int n) { return data.ConsumeIntegralInRange(0, n - 1); };
  AttentionCase c;
  c.dtype = data.ConsumeBool() ? DType::f32 : below(2) == 0 ? DType::bf16 : DType::f16;
  c.batch = below(4);
  c.key_heads = below(4);
  c.group = 1 + below(3);
  c.queries = below(40);
  c.keys = below(100);
  c.d = 1 + below(70);
  c.dv = below(70);
  c.causal = data.ConsumeBool();
  c.offset = static_cast<CaseOffset>(below(4));
  c.window_left = below(30) - 1;
  c.window_right = below(30) - 1;
  c.key_lengths = data.ConsumeBool();
  c.mask = static_cast<CaseMask>(below(5));
  c.bias = static_cast<CaseBias>(below(5));
  c.alibi = data.ConsumeBool();
  c.softcap = data.ConsumeBool();
  c.sinks = data.ConsumeBool();
  c.own_scale = data.ConsumeBool();
  c.packed = c.batch > 0 && data.ConsumeBool();
  c.memory = static_cast<CaseMemory>(below(4));
  c.dropout = data.ConsumeBool();
  c.seed = data.ConsumeIntegral<std::uint16_t>();
  // Few queries are decoded, and decoding cuts the keys at multiples of 512. Not with ALiBi, whose scores
  // would grow with the distance, and their rounding with them.
  if (c.queries <= 8 && !c.alibi && data.ConsumeBool()) c.keys += 500;
  return c;
}

void sprinkle(FuzzedDataProvider& data, Tensor& tensor) {
  if (tensor.count() == 0) return;
  Tensor wide = copy_of(tensor, DType::f64);
  for (int i = data.ConsumeIntegralInRange(0, 3); i > 0; --i) {
    const auto place = data.ConsumeIntegralInRange<std::int64_t>(0, tensor.count() - 1);
    wide.values<double>()[static_cast<std::size_t>(place)] = std::numeric_limits<double>::quiet_NaN();
  }
  copy(wide, tensor);
}

void require_close(const char* what, const AttentionCase& c, ConstTensorView got, ConstTensorView expected,
                   double bound) {
  const double apart = max_abs_difference(got, expected);
  if (apart <= bound) return;
  std::fprintf(stderr, "%s is %g from float64: %s\n", what, apart, describe(c).c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  FuzzedDataProvider data(bytes, size);
  static const std::vector<std::string> isas = available_isas();
  set_isa(isas[data.ConsumeIntegralInRange<std::size_t>(0, isas.size() - 1)]);
  const AttentionCase c = case_from(data);
  AttentionInputs in = make_inputs(c);
  for (Tensor* tensor : {&in.q_storage, &in.k_storage, &in.v_storage}) sprinkle(data, *tensor);

  Tensor out = in.output(DType::f32), expected = in.output(DType::f64);
  RowState state(in.q);
  attention(in.q, in.k, in.v, in.options, out, state);
  reference::attention(in.q, in.k, in.v, in.options, expected);
  require_close("output", c, out, expected, 2e-5);
  for (const Stage stage : {Stage::scores, Stage::capped, Stage::biased, Stage::weights}) {
    require_close("stage", c, attention_rows(in.q, in.k, in.options, stage),
                  reference::attention_rows(in.q, in.k, in.options, stage), 2e-5);
  }

  WeightsRequest request;
  request.top_k = data.ConsumeIntegralInRange(0, 40);
  request.received = request.entropy = true;
  request.map_rows = data.ConsumeIntegralInRange(1, 50);
  request.map_columns = data.ConsumeIntegralInRange(1, 120);
  request.map_reduction = data.ConsumeBool() ? MapReduction::max : MapReduction::mean;
  const WeightsSummary judge = reference::summarize_weights(in.q, in.k, in.options, request);
  const WeightsSummary got = data.ConsumeBool() ? summarize_weights(in.q, in.k, in.options, request, state)
                                                : summarize_weights(in.q, in.k, in.options, request);
  require_close("top_weights", c, got.top_weights, judge.top_weights, 2e-5);
  require_close("received", c, got.received, judge.received, 1e-4);
  require_close("entropy", c, got.entropy, judge.entropy, 1e-4);
  require_close("map", c, got.map, judge.map, 2e-5);

  Tensor d_out = random_d_out(in, DType::f32, c.seed);
  sprinkle(data, d_out);
  std::string where;
  const double error = largest_error(fused_gradients(in, d_out), reference_gradients(in, d_out), where);
  if (error > 5e-5) {
    std::fprintf(stderr, "%s is %g from float64: %s\n", where.c_str(), error, describe(c).c_str());
    std::abort();
  }
  return 0;
}
