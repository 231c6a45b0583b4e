// attend bench precision.
#include <attend/attention.h>

#include <array>

#include "bench/bench.h"
#include "bench/cases.h"
#include "bench/check.h"
#include "bench/measure.h"
#include "draw/number.h"

namespace attend::bench {
namespace {

// One case with tensors of one type, checked and ready to be timed. The output has the type of the tensors.
struct TypedCall {
  Record record;
  Inputs inputs;
  AttentionOptions options;
  Tensor out;

  explicit TypedCall(const AttentionCase& one)
      : record(attention_record(one)),
        inputs(random_inputs(one.shape, one.dtype)),
        out(one.dtype, inputs.q.shape()) {
    record.bench = "precision";
    options.causal = one.causal;
    Tensor checked(DType::f32, inputs.q.shape());
    attention(inputs.q, inputs.k, inputs.v, options, checked);
    record.error = check_output(record.name, inputs, options, checked, output_bound(inputs, options));
  }
  void run() { attention(inputs.q, inputs.k, inputs.v, options, out); }
};

draw::Table gain_table(const std::vector<Record>& records) {
  draw::Table table{.title = "bf16 beside f32: the same call on tensors of each type",
                    .label_header = "case",
                    .columns = {{"time of f32 over bf16"}, {"error of f32"}, {"error of bf16"}},
                    .rows = {}};
  for (std::size_t i = 0; i + 1 < records.size(); i += 2) {
    const Record &f32 = records[i], &bf16 = records[i + 1];
    table.rows.push_back(
        {.label = f32.name,
         .cells = {draw::format_number(f32.seconds.median / bf16.seconds.median, {.decimals = 2}),
                   draw::format_short(f32.error), draw::format_short(bf16.error)}});
  }
  return table;
}

}  // namespace

Report bench_precision(const BenchSettings& settings) {
  Report report;
  report.title = "Attention by precision";
  const std::vector<AttentionCase> cases = precision_cases(settings.quick);
  for (std::size_t i = 0; i + 1 < cases.size(); i += 2) {
    settings.progress("precision " + to_string(cases[i]));
    TypedCall f32(cases[i]), bf16(cases[i + 1]);
    measure(std::array{MeasuredCall{f32.record, [&] { f32.run(); }},
                       MeasuredCall{bf16.record, [&] { bf16.run(); }}},
            settings);
    bf16.record.more.push_back({"speed_over_f32", f32.record.seconds.median / bf16.record.seconds.median});
    report.records.push_back(std::move(f32.record));
    report.records.push_back(std::move(bf16.record));
  }
  report.tables = {speed_table("B, heads, tokens, head size", report.records), gain_table(report.records)};
  report.notes = {
      "The peak is that of multiply-adds in f32, so that a share of more than 100% is possible in bf16."};
  return report;
}

}  // namespace attend::bench
