// attend bench decode --device cuda, and what weights on demand cost there.
#include <attend/attention.h>
#include <attend/weights.h>

#include <array>
#include <utility>

#include "bench/bench.h"
#include "bench/cases.h"
#include "bench/check.h"
#include "bench/check_weights.h"
#include "bench/gpu_measure.h"
#include "draw/number.h"

namespace attend::bench {
namespace {

Record gpu_decode(const DecodeCase& one, Device device, const BenchSettings& settings) {
  Record record;
  record.bench = "decode";
  record.name = to_string(one);
  record.dtype = one.dtype;
  record.direction = Direction::decode;
  record.shape = one.shape;
  record.flops = attention_flops(one.shape, Direction::decode, false);
  record.bytes = cache_bytes(one);
  const Inputs inputs = random_inputs(one.shape, one.dtype);
  const GpuInputs there(inputs, device);
  Tensor checked(DType::f32, inputs.q.shape(), device), out(one.dtype, inputs.q.shape(), device);
  attention(there.q, there.k, there.v, {}, checked);
  record.error = check_output(record.name, inputs, {}, copy_of(checked, Device{}), gpu_bound(one.dtype));
  const auto run = [&] { attention(there.q, there.k, there.v, {}, out); };
  measure_on_gpu(std::array{MeasuredCall{record, run}}, device, settings);
  return record;
}

struct GpuQuestion {
  const char* name;
  bool output;
  WeightsRequest request;
};

constexpr GpuQuestion kGpuQuestions[] = {
    {"output alone", true, {}},
    {"output, top-8, received, entropy", true, {.top_k = 8, .received = true, .entropy = true}},
    {"top-8", false, {.top_k = 8}},
    {"received", false, {.received = true}},
    {"entropy", false, {.entropy = true}},
    {"map of 256 x 256, mean", false, {.map_rows = 256, .map_columns = 256}},
};

bool asks_for_weights(const WeightsRequest& request) {
  return request.top_k > 0 || request.received || request.entropy || request.map_rows > 0;
}

WeightsSummary on_host(const WeightsSummary& summary) {
  const Device host;
  return {copy_of(summary.top_keys, host), copy_of(summary.top_weights, host),
          copy_of(summary.received, host), copy_of(summary.entropy, host), copy_of(summary.map, host)};
}

// Of one shape: the output, with and without questions, in turns.
std::vector<Record> gpu_questions(const Shape& shape, Device device, const BenchSettings& settings,
                                  Report& report) {
  const Inputs inputs = random_inputs(shape, DType::bf16);
  const GpuInputs there(inputs, device);
  Tensor out(DType::bf16, inputs.q.shape(), device), checked(DType::f32, inputs.q.shape(), device);
  RowState state(there.q);
  attention(there.q, there.k, there.v, {}, checked, state);
  const Tensor max = copy_of(state.max, Device{}), sum = copy_of(state.sum, Device{});
  std::vector<Record> records;
  std::vector<const GpuQuestion*> asked;
  for (const GpuQuestion& one : kGpuQuestions) {
    settings.progress(std::string("weights ") + one.name);
    Record record;
    record.bench = "weights";
    record.name = to_string(shape) + " " + one.name;
    record.dtype = DType::bf16;
    record.shape = shape;
    const bool weights = asks_for_weights(one.request);
    record.flops =
        attention_flops(shape, Direction::forward, false) / 2 * ((one.output ? 2 : 0) + (weights ? 1 : 0));
    const bool there_is = is_there(report, [&] {
      if (one.output)
        record.error =
            check_output(record.name, inputs, {}, copy_of(checked, Device{}), gpu_bound(DType::bf16));
      if (!weights) return;
      const WeightsSummary summary = on_host(summarize_weights(there.q, there.k, {}, one.request, state));
      record.error =
          std::max(record.error, check_weights(record.name, inputs, one.request, summary, {max, sum}));
    });
    if (!there_is) continue;
    records.push_back(std::move(record));
    asked.push_back(&one);
  }
  std::vector<MeasuredCall> calls;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    calls.push_back({records[i], [&, one = *asked[i]] {
                       if (one.output) attention(there.q, there.k, there.v, {}, out, state);
                       if (asks_for_weights(one.request))
                         summarize_weights(there.q, there.k, {}, one.request, state);
                     }});
  }
  measure_on_gpu(calls, device, settings);
  for (Record& record : records)
    record.more = {{"time_over_output", record.seconds.median / records.front().seconds.median}};
  return records;
}

}  // namespace

Report bench_gpu_decode(const BenchSettings& settings, Device device) {
  const auto cache = [](std::int64_t sequences, std::int64_t keys) {
    return DecodeCase{{.b = sequences, .hq = 32, .hkv = 8, .lq = 1, .lk = keys, .d = 128}, DType::bf16};
  };
  std::vector<DecodeCase> cases{cache(1, 32768)};
  if (!settings.quick) cases = {cache(1, 32768), cache(16, 8192), cache(64, 4096)};
  Report report;
  report.title = "Decode on " + to_string(device);
  for (const DecodeCase& one : cases) {
    settings.progress("decode " + to_string(one));
    report.records.push_back(gpu_decode(one, device, settings));
  }
  report.tables = {gpu_table("B, query heads / key heads, queries / keys, head size", report.records)};
  return report;
}

Report bench_gpu_weights(const BenchSettings& settings, Device device) {
  Report report;
  report.title = "Weights on demand on " + to_string(device);
  draw::Table table{.title = "bf16; the questions alone use the row state that is there already",
                    .label_header = "question",
                    .columns = {{"time"}, {"over output"}, {"error"}},
                    .rows = {}};
  for (const std::int64_t n :
       settings.quick ? std::vector<std::int64_t>{2048} : std::vector<std::int64_t>{4096, 8192}) {
    const Shape shape{.b = 1, .hq = 16, .hkv = 16, .lq = n, .lk = n, .d = 128};
    for (Record& record : gpu_questions(shape, device, settings, report)) {
      table.rows.push_back({.label = record.name,
                            .cells = {format_seconds(record.seconds.median),
                                      draw::format_number(record.more.front().second, {.decimals = 2}),
                                      draw::format_short(record.error)}});
      report.records.push_back(std::move(record));
    }
  }
  report.tables = {std::move(table)};
  return report;
}

}  // namespace attend::bench
