// attend bench threads: the same cases on 1, 2, 4, ... threads.
#include <attend/threads.h>

#include <algorithm>
#include <vector>

#include "bench/bench.h"
#include "bench/cases.h"
#include "bench/measure.h"
#include "draw/number.h"

namespace attend::bench {
namespace {

// 1, 2, 4, ..., and as many as are in use.
std::vector<int> thread_counts(int most) {
  std::vector<int> counts;
  for (int count = 1; count < most; count *= 2) counts.push_back(count);
  counts.push_back(most);
  return counts;
}

// The number of threads in use is put back, whatever happens.
class WithThreads {
 public:
  WithThreads() : before_(threads()) {}
  ~WithThreads() { set_threads(before_); }
  WithThreads(const WithThreads&) = delete;
  WithThreads& operator=(const WithThreads&) = delete;
  int most() const { return before_; }

 private:
  int before_;
};

// One case on each number of threads, one thread first.
template <class Measure>
std::vector<Record> on_each_count(const std::vector<int>& counts, const Measure& measure_case) {
  std::vector<Record> records;
  for (const int count : counts) {
    set_threads(count);
    Record record = measure_case();
    record.bench = "threads";
    record.name += count == 1 ? ", 1 thread" : ", " + std::to_string(count) + " threads";
    const double one = records.empty() ? record.seconds.median : records.front().seconds.median;
    const double speedup = one / record.seconds.median;
    record.more = {{"speedup", speedup}, {"efficiency", speedup / count}};
    records.push_back(std::move(record));
  }
  return records;
}

// A row a case: the time on one thread, how many times as fast on more, and the share of the peak on all.
void add_row(draw::Table& table, const std::vector<Record>& records) {
  const std::string& name = records.front().name;
  draw::TableRow row{.label = name.substr(0, name.rfind(", ")),
                     .cells = {format_seconds(records.front().seconds.median)}};
  for (std::size_t i = 1; i < records.size(); ++i)
    row.cells.push_back(draw::format_number(records[i].more.front().second, {.decimals = 2}));
  row.cells.push_back(draw::format_number(100 * records.back().share_of_peak(), {.decimals = 1}) + "%");
  table.rows.push_back(std::move(row));
}

}  // namespace

Report bench_threads(const BenchSettings& settings) {
  std::vector<AttentionCase> attention = {{{1, 12, 12, 128, 128, 64}}, {{1, 12, 12, 512, 512, 64}}};
  std::vector<ProductCase> products = {{{512, 1536, 384}}, {{1, 1536, 384}}};
  if (!settings.quick) {
    attention.push_back({{1, 8, 8, 1024, 1024, 64}, DType::f32, Direction::backward});
    attention.push_back({{1, 8, 8, 1024, 1024, 64}, DType::f32, Direction::backward, true});
    attention.push_back({{1, 8, 8, 4096, 4096, 128}});
    attention.push_back({{1, 12, 12, 512, 512, 64}, DType::bf16});
  }
  const WithThreads in_use;
  const std::vector<int> counts = thread_counts(in_use.most());
  Report report;
  report.title = "Threads";
  draw::Table table{
      .title = "How many times as fast", .label_header = "case", .columns = {{"1 thread"}}, .rows = {}};
  for (std::size_t i = 1; i < counts.size(); ++i) table.columns.push_back({std::to_string(counts[i])});
  table.columns.push_back({"of the peak"});
  const auto add = [&](const std::string& name, const auto& measure_case) {
    settings.progress("threads " + name);
    std::vector<Record> records = on_each_count(counts, measure_case);
    add_row(table, records);
    for (Record& record : records) report.records.push_back(std::move(record));
  };
  for (const AttentionCase& one : attention)
    add(to_string(one), [&] { return measure_attention(one, settings); });
  for (const ProductCase& one : products) add(to_string(one), [&] { return measure_product(one, settings); });
  report.tables = {std::move(table)};
  return report;
}

}  // namespace attend::bench
