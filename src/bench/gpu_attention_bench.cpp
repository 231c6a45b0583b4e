// attend bench attention --device cuda, and what options cost there.
#include <attend/attention.h>
#include <attend/attention_backward.h>

#include <array>
#include <utility>

#include "bench/bench.h"
#include "bench/cases.h"
#include "bench/check.h"
#include "bench/gpu_measure.h"
#include "draw/number.h"

namespace attend::bench {
namespace {

// Shapes for which figures of other GPU kernels are published, and those of small models.
std::vector<AttentionCase> gpu_cases(bool quick) {
  std::vector<AttentionCase> cases;
  const auto add = [&](Shape shape, DType dtype = DType::bf16, Direction direction = Direction::forward) {
    for (const bool causal : {false, true}) cases.push_back({shape, dtype, direction, causal});
  };
  const auto square = [](std::int64_t b, std::int64_t h, std::int64_t n, std::int64_t d) {
    return Shape{.b = b, .hq = h, .hkv = h, .lq = n, .lk = n, .d = d};
  };
  for (const std::int64_t d : {128, 64}) {
    for (const std::int64_t n : {4096, 8192, 16384}) {
      if (!quick || n == 4096) add(square(1, 16, n, d));
    }
  }
  for (const std::int64_t d : {96, 192, 256}) {
    if (!quick) add(square(1, 16, 4096, d));
  }
  add(square(8, 12, 512, 64));
  add(square(32, 12, 128, 64));
  if (!quick) {
    add({.b = 1, .hq = 32, .hkv = 8, .lq = 4096, .lk = 4096, .d = 128});
    add(square(1, 16, 4096, 128), DType::f16);
    add(square(1, 4, 1024, 128), DType::f32);
  }
  for (const std::int64_t d : {128, 64}) {
    add(square(1, 16, quick ? 4096 : 8192, d), DType::bf16, Direction::backward);
  }
  return cases;
}

double check_gpu_output(const std::string& what, const Inputs& inputs, const GpuInputs& there,
                        const AttentionOptions& options, const AttentionOptions& options_there) {
  Tensor out(DType::f32, inputs.q.shape(), there.q.device());
  attention(there.q, there.k, there.v, options_there, out);
  return check_output(what, inputs, options, copy_of(out, Device{}), gpu_bound(inputs.q.dtype()));
}

Record gpu_forward(const AttentionCase& one, Device device, const BenchSettings& settings) {
  Record record = attention_record(one);
  const Inputs inputs = random_inputs(one.shape, one.dtype);
  const GpuInputs there(inputs, device);
  const AttentionOptions options{.causal = one.causal};
  record.error = check_gpu_output(record.name, inputs, there, options, options);
  Tensor out(one.dtype, inputs.q.shape(), device);
  const auto run = [&] { attention(there.q, there.k, there.v, options, out); };
  measure_on_gpu(std::array{MeasuredCall{record, run}}, device, settings);
  return record;
}

Record gpu_backward(const AttentionCase& one, Device device, const BenchSettings& settings) {
  Record record = attention_record(one);
  const Inputs inputs = random_inputs(one.shape, one.dtype);
  const GpuInputs there(inputs, device);
  const AttentionOptions options{.causal = one.causal};
  Tensor out(DType::f32, inputs.q.shape(), device);  // as attend.torch keeps it
  RowState state(there.q);
  attention(there.q, there.k, there.v, options, out, state);
  Tensor d_q(one.dtype, inputs.q.shape(), device), d_k(one.dtype, inputs.k.shape(), device),
      d_v(one.dtype, inputs.v.shape(), device);
  const auto backward = [&](ConstTensorView d_out) {
    attention_backward(there.q, there.k, there.v, options, out, state, d_out, {.q = d_q, .k = d_k, .v = d_v});
  };
  constexpr double kRelative = 2e-2;  // two products of 16-bit factors after another
  record.error = check_backward(
      record.name, inputs, options,
      [&](ConstTensorView d_out) {
        backward(copy_of(copy_of(d_out, one.dtype), device));
        return Gradients{copy_of(copy_of(d_q, Device{}), DType::f32),
                         copy_of(copy_of(d_k, Device{}), DType::f32),
                         copy_of(copy_of(d_v, Device{}), DType::f32)};
      },
      kRelative);
  const Tensor d_out = copy_of(random_tensor(one.dtype, inputs.q.shape(), 4), device);
  measure_on_gpu(std::array{MeasuredCall{record, [&] { backward(d_out); }}}, device, settings);
  return record;
}

struct GpuOption {
  const char* name;
  AttentionOptions here, there;
};

}  // namespace

Report bench_gpu_attention(const BenchSettings& settings, Device device) {
  Report report;
  report.title = "Attention on " + to_string(device);
  for (const AttentionCase& one : gpu_cases(settings.quick)) {
    settings.progress("attention " + to_string(one));
    is_there(report, [&] {
      report.records.push_back(one.direction == Direction::backward ? gpu_backward(one, device, settings)
                                                                    : gpu_forward(one, device, settings));
    });
  }
  report.tables = {gpu_table("B, heads, tokens, head size", report.records)};
  return report;
}

Report bench_gpu_options(const BenchSettings& settings, Device device) {
  const std::int64_t n = settings.quick ? 2048 : 8192, heads = 16;
  const Shape shape{.b = 1, .hq = heads, .hkv = heads, .lq = n, .lk = n, .d = 128};
  const Inputs inputs = random_inputs(shape, DType::bf16);
  const GpuInputs there(inputs, device);
  const Tensor bias = random_tensor(DType::f32, {n, n}, 5), bias_there = copy_of(bias, device);
  Tensor mask(DType::boolean, {n, n});
  for (std::size_t i = 0; i < mask.values<bool>().size(); ++i) mask.values<bool>()[i] = i % 10 != 3;
  const Tensor mask_there = copy_of(mask, device);

  std::vector<GpuOption> all;
  const auto add = [&](const char* name, const AttentionOptions& options) {
    all.push_back({name, options, options});
  };
  const std::vector<double> slopes(static_cast<std::size_t>(heads), 0.01), sinks(slopes.size(), 0.5);
  add("plain", {});
  add("window of 1024 each way", {.window = {1024, 1024}});
  add("softcap", {.softcap = 30});
  add("ALiBi", {.alibi_slopes = slopes});
  add("sinks", {.sinks = sinks});
  all.push_back({"mask", {.mask = mask}, {.mask = mask_there}});
  all.push_back({"bias", {.bias = bias}, {.bias = bias_there}});

  Report report;
  report.title = "Options on " + to_string(device);
  Tensor out(DType::bf16, inputs.q.shape(), device);
  std::vector<Record> records;
  for (const GpuOption& one : all) {
    settings.progress(std::string("options ") + one.name);
    Record record = attention_record({shape, DType::bf16, Direction::forward, false});
    record.bench = "options";
    record.name = one.name;
    record.error = check_gpu_output(record.name, inputs, there, one.here, one.there);
    records.push_back(std::move(record));
  }
  std::vector<MeasuredCall> calls;
  for (std::size_t i = 0; i < all.size(); ++i) {
    calls.push_back({records[i], [&, i] { attention(there.q, there.k, there.v, all[i].there, out); }});
  }
  measure_on_gpu(calls, device, settings);
  draw::Table table{.title = to_string(shape) + ", bf16; FLOPs are those of all scores",
                    .label_header = "option",
                    .columns = {{"time"}, {"over plain"}, {"TFLOP/s"}, {"error"}},
                    .rows = {}};
  for (Record& record : records) {
    const double over = record.seconds.median / records.front().seconds.median;
    record.more = {{"time_over_plain", over}};
    table.rows.push_back(
        {.label = record.name,
         .cells = {format_seconds(record.seconds.median), draw::format_number(over, {.decimals = 2}),
                   draw::format_number(record.flops_rate() / 1e12, {.decimals = 1}),
                   draw::format_short(record.error)}});
  }
  report.records = std::move(records);
  report.tables = {std::move(table)};
  return report;
}

}  // namespace attend::bench
