// attend bench attention.
#include <attend/attention.h>
#include <attend/attention_backward.h>

#include <array>

#include "bench/bench.h"
#include "bench/cases.h"
#include "bench/check.h"
#include "bench/measure.h"
#include "draw/number.h"

namespace attend::bench {
namespace {

AttentionOptions options_of(const AttentionCase& one) {
  AttentionOptions options;
  options.causal = one.causal;
  return options;
}

Record measure_forward(const AttentionCase& one, const BenchSettings& settings) {
  Record record = attention_record(one);
  const Inputs inputs = random_inputs(one.shape, one.dtype);
  const AttentionOptions options = options_of(one);
  Tensor out(DType::f32, inputs.q.shape());
  const auto run = [&] { attention(inputs.q, inputs.k, inputs.v, options, out); };
  run();
  record.error = check_output(record.name, inputs, options, out, output_bound(inputs, options));
  measure(std::array{MeasuredCall{record, run}}, settings);
  return record;
}

Record measure_backward(const AttentionCase& one, const BenchSettings& settings) {
  Record record = attention_record(one);
  const Inputs inputs = random_inputs(one.shape, one.dtype);
  const AttentionOptions options = options_of(one);
  Tensor out(DType::f32, inputs.q.shape());
  RowState state(inputs.q);
  attention(inputs.q, inputs.k, inputs.v, options, out, state);

  const auto new_gradients = [&] {
    return Gradients{Tensor(DType::f32, inputs.q.shape()), Tensor(DType::f32, inputs.k.shape()),
                     Tensor(DType::f32, inputs.v.shape())};
  };
  const auto backward = [&](ConstTensorView d_out, Gradients& into) {
    attention_backward(inputs.q, inputs.k, inputs.v, options, out, state, d_out,
                       {.q = into.q, .k = into.k, .v = into.v});
  };
  const auto checked = [&](ConstTensorView d_out) {
    Gradients gradients = new_gradients();
    backward(d_out, gradients);
    return gradients;
  };
  record.error = check_backward(record.name, inputs, options, checked, gradients_bound(inputs, options));

  const Tensor d_out = random_tensor(DType::f32, inputs.q.shape(), 4);
  Gradients gradients = new_gradients();
  measure(std::array{MeasuredCall{record, [&] { backward(d_out, gradients); }}}, settings);
  return record;
}

}  // namespace

Record measure_attention(const AttentionCase& one, const BenchSettings& settings) {
  return one.direction == Direction::backward ? measure_backward(one, settings)
                                              : measure_forward(one, settings);
}

namespace {

// A causal case comes after the full one of the same shape.
void compare_with_full(Record& record, const std::vector<Record>& before) {
  if (!record.causal || before.empty()) return;
  const Record& full = before.back();
  record.more.push_back({"time_over_full", record.seconds.median / full.seconds.median});
}

draw::Table causal_table(const std::vector<Record>& records) {
  draw::Table table{.title = "Causal, relative to full (half the work)",
                    .label_header = "case",
                    .columns = {{"time over full"}},
                    .rows = {}};
  for (const Record& record : records) {
    if (record.more.empty()) continue;
    table.rows.push_back({.label = std::string(name_of(record.direction)) + " " + to_string(record.shape),
                          .cells = {draw::format_number(record.more.front().second, {.decimals = 3})}});
  }
  return table;
}

}  // namespace

Report bench_attention(const BenchSettings& settings) {
  Report report;
  report.title = "Attention";
  for (const AttentionCase& one : attention_cases(settings.quick)) {
    settings.progress("attention " + to_string(one));
    Record record = measure_attention(one, settings);
    compare_with_full(record, report.records);
    report.records.push_back(std::move(record));
  }
  report.tables = {speed_table("B, heads, tokens, head size", report.records), causal_table(report.records)};
  return report;
}

}  // namespace attend::bench
