// attend bench decode.
#include <attend/cache.h>

#include <array>

#include "bench/bench.h"
#include "bench/cases.h"
#include "bench/check.h"
#include "bench/measure.h"

namespace attend::bench {
namespace {

constexpr std::int64_t kSmallestBuffer = std::int64_t{256} << 20;

Record measure_decode(const DecodeCase& one, const BenchSettings& settings, MemoryReader& reader) {
  const Shape& shape = one.shape;
  Record record;
  record.bench = "decode";
  record.name = to_string(one);
  record.dtype = one.dtype;
  record.direction = Direction::decode;
  record.shape = shape;
  record.flops = attention_flops(shape, Direction::decode, false);
  record.bytes = cache_bytes(one);

  KeyValueCache cache(one.dtype, shape.b, shape.hkv, shape.d, shape.d, shape.lk);
  Inputs inputs = random_inputs(shape, one.dtype);
  cache.append(inputs.k, inputs.v);
  Tensor out(DType::f32, inputs.q.shape());
  const auto run = [&] { cache.attention(inputs.q, {}, out); };
  run();
  record.error = check_output(record.name, inputs, {}, out);
  inputs.k = Tensor();  // the cache has its own
  inputs.v = Tensor();
  measure(std::array{MeasuredCall{record, run}}, settings, &reader);
  return record;
}

}  // namespace

Report bench_decode(const BenchSettings& settings) {
  Report report;
  report.title = "Decode";
  settings.progress("decode");
  MemoryReader reader(kSmallestBuffer);
  for (const DecodeCase& one : decode_cases(settings.quick)) {
    settings.progress("decode " + to_string(one));
    report.records.push_back(measure_decode(one, settings, reader));
  }
  report.tables = {speed_table("B, query heads / key heads, queries / keys, head size", report.records)};
  report.notes = {"GB/s: keys and values, each read once, over the time. The peak is a loop that reads " +
                  format_bytes(reader.bytes()) + "."};
  return report;
}

}  // namespace attend::bench
