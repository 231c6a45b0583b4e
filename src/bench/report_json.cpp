#include <attend/isa.h>
#include <attend/version.h>

#include <nlohmann/json.hpp>

#include "bench/machine.h"
#include "bench/report.h"

namespace attend::bench {
namespace {

using Json = nlohmann::ordered_json;

Json object_of(const Record& record) {
  const Shape& shape = record.shape;
  Json object = {{"bench", record.bench},
                 {"case", record.name},
                 {"dtype", attend::name_of(record.dtype)},
                 {"direction", name_of(record.direction)},
                 {"causal", record.causal},
                 {"b", shape.b},
                 {"hq", shape.hq},
                 {"hkv", shape.hkv},
                 {"lq", shape.lq},
                 {"lk", shape.lk},
                 {"d", shape.d}};
  if (record.product) {
    object.update(Json{{"m", record.product->m}, {"n", record.product->n}, {"k", record.product->k}});
  }
  const bool on_host = record.device.empty();
  if (!on_host) object["device"] = record.device;
  object.update(Json{{"threads", record.threads},
                     {"seconds", record.seconds.median},
                     {"seconds_low", record.seconds.low},
                     {"seconds_high", record.seconds.high},
                     {"gflops", record.flops_rate() / 1e9}});
  if (on_host) object["peak_gflops"] = record.peak_flops / 1e9;
  if (record.bytes > 0) {
    object["gbps"] = record.bytes_rate() / 1e9;
    if (on_host) object["peak_gbps"] = record.peak_bytes / 1e9;
  }
  if (on_host) {
    object.update(Json{{"share", record.share_of_peak()},
                       {"share_low", record.share.low},
                       {"share_high", record.share.high}});
  }
  object.update(Json{{"rounds", record.rounds}, {"max_error", record.error}});
  for (const auto& [key, value] : record.more) object[key] = value;
  return object;
}

}  // namespace

std::string to_json(std::span<const Report> reports) {
  const Json machine = {
      {"isa", isa()}, {"cpu", cpu_name()}, {"compiler", compiler_name()}, {"version", version()}};
  std::string text = "[";
  for (const Report& report : reports) {
    for (const Record& record : report.records) {
      Json object = object_of(record);
      object.update(machine);
      text.append(text.size() > 1 ? ",\n " : "").append(object.dump());
    }
  }
  return text + "]\n";
}

}  // namespace attend::bench
