// attend bench weights: what weights on demand cost compared with the output alone, and that memory stays
// O(n).
#include <attend/weights.h>

#include <algorithm>
#include <optional>

#include "bench/bench.h"
#include "bench/check.h"
#include "bench/check_weights.h"
#include "bench/machine.h"
#include "bench/measure.h"
#include "draw/number.h"

namespace attend::bench {
namespace {

struct Question {
  const char* name;
  bool output;  // also computed; otherwise the row state is already available
  WeightsRequest request;
};

std::vector<Question> questions(std::int64_t map_size) {
  const auto map = [&](MapReduction reduction) {
    return WeightsRequest{.map_rows = map_size, .map_columns = map_size, .map_reduction = reduction};
  };
  return {{"output alone", true, {}},
          {"output, top-8, received", true, {.top_k = 8, .received = true}},
          {"top-8", false, {.top_k = 8}},
          {"received", false, {.received = true}},
          {"entropy", false, {.entropy = true}},
          {"map, mean", false, map(MapReduction::mean)},
          {"map, max", false, map(MapReduction::max)}};
}

bool asks(const WeightsRequest& request) {
  return request.top_k > 0 || request.received || request.entropy || request.map_rows > 0;
}

// Output and row state, and a question to ask of them.
struct Answers {
  const Inputs& inputs;
  Tensor out;
  RowState state;

  explicit Answers(const Inputs& of) : inputs(of), out(DType::f32, of.q.shape()), state(of.q) {}

  void output() { attention(inputs.q, inputs.k, inputs.v, {}, out, state); }
  WeightsSummary ask(const WeightsRequest& request) {
    return summarize_weights(inputs.q, inputs.k, {}, request, state);
  }
};

Record record_of(std::string name, const Shape& shape, bool output, bool weights) {
  Record record;
  record.bench = "weights";
  record.name = std::move(name);
  record.shape = shape;
  // Two products for the output, one more for its weights.
  const double product = attention_flops(shape, Direction::forward, false) / 2;
  record.flops = product * ((output ? 2 : 0) + (weights ? 1 : 0));
  return record;
}

std::vector<Record> measure_questions(const Shape& shape, const BenchSettings& settings) {
  const Inputs inputs = random_inputs(shape, DType::f32);
  Answers answers(inputs);
  answers.output();
  const std::vector<Question> all = questions(settings.quick ? 256 : 1024);

  std::vector<Record> records;
  for (const Question& question : all) {
    settings.progress(std::string("weights ") + question.name);
    Record record = record_of(question.name, shape, question.output, asks(question.request));
    if (question.output) record.error = check_output(record.name, inputs, {}, answers.out);
    if (asks(question.request)) {
      const WeightsSummary summary = answers.ask(question.request);
      record.error = std::max(record.error,
                              check_weights(record.name, inputs, question.request, summary, answers.state));
    }
    records.push_back(std::move(record));
  }

  std::vector<MeasuredCall> calls;
  for (std::size_t i = 0; i < all.size(); ++i) {
    calls.push_back({records[i], [&, question = all[i]] {
                       if (question.output) answers.output();
                       if (asks(question.request)) answers.ask(question.request);
                     }});
  }
  settings.progress("weights");
  measure(calls, settings);
  for (Record& record : records) {
    record.more.push_back({"time_over_output", record.seconds.median / records.front().seconds.median});
  }
  return records;
}

// Everything that such a call needs, including inputs and results, is allocated while memory is measured.
Record measure_memory(const Shape& shape, std::int64_t map_size, const BenchSettings& settings) {
  const WeightsRequest request{.top_k = 8, .map_rows = map_size, .map_columns = map_size};
  Record record = record_of("output, top-8, map of n=" + std::to_string(shape.lk), shape, true, true);
  settings.progress("weights " + record.name);
  std::optional<Inputs> inputs;
  std::optional<Answers> answers;
  WeightsSummary summary;
  const double growth = memory_growth([&] {
    inputs = random_inputs(shape, DType::f32);
    answers.emplace(*inputs);
    measure_once(record, [&] {
      answers->output();
      summary = answers->ask(request);
    });
  });
  record.error = std::max(check_output(record.name, *inputs, {}, answers->out),
                          check_weights(record.name, *inputs, request, summary, answers->state));
  record.more = {{"memory_growth_bytes", growth},
                 {"matrix_bytes", static_cast<double>(shape.lq * shape.lk) * 4}};
  return record;
}

draw::Table ratio_table(const std::vector<Record>& records) {
  draw::Table table =
      speed_table("One call at a time; a question alone uses the row state of an earlier output", records);
  table.columns.insert(table.columns.begin() + 1, {"/ output"});
  for (std::size_t i = 0; i < records.size(); ++i) {
    table.rows[i].cells.insert(table.rows[i].cells.begin() + 1,
                               draw::format_number(records[i].more.front().second, {.decimals = 2}));
  }
  return table;
}

}  // namespace

Report bench_weights(const BenchSettings& settings) {
  const std::int64_t n = settings.quick ? 1024 : 4096, longest = settings.quick ? 4096 : 65536;
  const Shape shape = {1, 8, 8, n, n, 64}, long_shape = {1, 1, 1, longest, longest, 64};
  Report report;
  report.title = "Weights on demand, " + to_string(shape);
  report.records = measure_questions(shape, settings);
  report.tables = {ratio_table(report.records)};

  const Record memory = measure_memory(long_shape, settings.quick ? 256 : 1024, settings);
  report.notes = {"Output, the top 8 keys of every row and a map of " + std::to_string(longest) +
                  " tokens, one head of 64: " + format_seconds(memory.seconds.median) +
                  ", and the process grows by " + format_bytes(memory.more[0].second) +
                  ", including inputs and results. The n x n matrix would take " +
                  format_bytes(memory.more[1].second) + "."};
  report.records.push_back(memory);
  return report;
}

}  // namespace attend::bench
