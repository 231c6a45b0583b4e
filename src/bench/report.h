// The result of a benchmark: records for programs, tables and sentences for people.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/record.h"
#include "draw/plot.h"
#include "draw/table.h"

namespace attend::bench {

struct Report {
  std::string title{};
  std::vector<Record> records{};
  std::vector<draw::Table> tables{};
  std::optional<draw::Plot> plot{};
  std::vector<std::string> notes{};  // paragraphs below
};

// Case, time, rate, peak, share and its quartiles. Records with bytes are shown in GB/s, the others in
// GFLOP/s.
draw::Table speed_table(std::string title, std::span<const Record> records);

// "243 µs", "1.52 ms", "12.4 s"; "512 B", "16.8 MB".
std::string format_seconds(double seconds);
std::string format_bytes(double bytes);

// A JSON list, one object per line. Every object has the keys listed in docs/benchmarks.md, including the
// machine's.
std::string to_json(std::span<const Report> reports);

}  // namespace attend::bench
