#include <array>
#include <cmath>
#include <cstddef>

#include "bench/report.h"
#include "draw/number.h"

namespace attend::bench {
namespace {

struct Unit {
  const char* name;
  double size;
};

// Three digits, in the largest unit in which the value is at least 1.
template <std::size_t kCount>
std::string in_units(double value, const std::array<Unit, kCount>& units) {
  const Unit* unit = units.data();
  for (const Unit& larger : units) {
    if (value >= larger.size) unit = &larger;
  }
  const double count = value / unit->size;
  const int decimals = count < 9.995 ? 2 : count < 99.95 ? 1 : 0;
  return draw::format_number(count, {.decimals = decimals}) + " " + unit->name;
}

std::string rounded(double value, int decimals = 0) {
  return draw::format_number(value, {.decimals = decimals});
}

std::string percent(double share) { return rounded(100 * share, 1) + "%"; }

std::string rate(double value) { return rounded(value / 1e9, value < 99.5e9 ? 1 : 0); }

}  // namespace

std::string format_seconds(double seconds) {
  return in_units(seconds, std::array{Unit{"ns", 1e-9}, Unit{"µs", 1e-6}, Unit{"ms", 1e-3}, Unit{"s", 1}});
}

std::string format_bytes(double bytes) {
  return in_units(bytes, std::array{Unit{"B", 1}, Unit{"kB", 1e3}, Unit{"MB", 1e6}, Unit{"GB", 1e9}});
}

draw::Table speed_table(std::string title, std::span<const Record> records) {
  const bool reads = !records.empty() && records.front().bytes > 0;
  draw::Table table{.title = std::move(title),
                    .label_header = "case",
                    .columns = {{"time"}, {reads ? "GB/s" : "GFLOP/s"}, {"peak"}, {"share"}, {"quartiles"}},
                    .rows = {}};
  for (const Record& record : records) {
    table.rows.push_back(
        {.label = record.name,
         .cells = {format_seconds(record.seconds.median),
                   rate(reads ? record.bytes_rate() : record.flops_rate()),
                   rate(reads ? record.peak_bytes : record.peak_flops), percent(record.share_of_peak()),
                   rounded(100 * record.share.low, 1) + "–" + percent(record.share.high)}});
  }
  return table;
}

}  // namespace attend::bench
