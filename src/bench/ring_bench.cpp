// attend bench ring: one sequence over several processes, in every way, beside one process.
#include <attend/spread_attention.h>
#include <attend/threads.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "bench/bench.h"
#include "bench/check.h"
#include "bench/inputs.h"
#include "bench/peak.h"
#include "bench/statistics.h"
#include "bench/timer.h"
#include "draw/number.h"

namespace attend::bench {
namespace {

constexpr std::int64_t kRingTokens = 4096, kRingTokensQuick = 1024, kRingHeads = 8, kRingHeadSize = 64;
constexpr int kRingRounds = 5;
// Of numbers near 1: merging rounds to f32 once for each block.
constexpr double kRingNoise = 1e-5;

// What each process has, and all of them together.
struct RingInputs {
  RingInputs(std::int64_t n, const Processes& processes)
      : whole(random_inputs({1, kRingHeads, kRingHeads, n, n, kRingHeadSize}, DType::f32)),
        d_out(random_tensor(DType::f32, whole.q.shape(), 4)),
        cut(n, processes.count()),
        rank(processes.rank()),
        q(own(whole.q)),
        k(own(whole.k)),
        v(own(whole.v)),
        own_d_out(own(d_out)) {}

  Tensor own(ConstTensorView all) const {
    Tensor rows(all.dtype(), {1, kRingHeads, cut.rows_of(rank), all.size(3)});
    std::int64_t at = 0;
    for (const RowChunk& chunk : cut.chunks_of(rank)) {
      copy(all.slice(2, chunk.first, chunk.last), rows.view().slice(2, at, at + chunk.rows()));
      at += chunk.rows();
    }
    return rows;
  }

  Inputs whole;
  Tensor d_out;
  ZigzagCut cut;
  int rank;
  Tensor q, k, v, own_d_out;
};

// Numbers of all processes, on all of them. It also brings them to one point in time.
std::vector<double> of_all(Processes& processes, double number) {
  const auto all = std::make_shared<std::vector<double>>(static_cast<std::size_t>(processes.count()), number);
  const auto place = [&](int process) {
    return std::span(*all).subspan(static_cast<std::size_t>(process), 1);
  };
  std::vector<Outgoing> outgoing;
  std::vector<Incoming> incoming;
  for (int other = 0; other < processes.count(); ++other) {
    if (other == processes.rank()) continue;
    outgoing.push_back({other, std::as_bytes(place(processes.rank()))});
    incoming.push_back({other, std::as_writable_bytes(place(other))});
  }
  processes.start(outgoing, incoming, all)->wait();
  return *all;
}
double largest_of(Processes& processes, double number) { return std::ranges::max(of_all(processes, number)); }
double mean_of(Processes& processes, double number) {
  double sum = 0;
  for (const double one : of_all(processes, number)) sum += one;
  return sum / processes.count();
}

struct Line {
  std::string name;
  Direction direction = Direction::forward;
  Spread seconds{};
  double waited = 0, sent = 0, predicted = 0, error = 0;
};

// Run by all processes at once: the slowest counts.
template <class Run>
void measure_together(Line& line, Processes& processes, const Run& run) {
  std::vector<double> seconds, waited;
  for (int round = 0; round < kRingRounds; ++round) {
    of_all(processes, 0);
    const std::int64_t sent = processes.bytes_sent();
    const double already = processes.seconds_waited();
    const double taken = seconds_of(run);
    const double mine = processes.seconds_waited() - already;
    line.sent = mean_of(processes, static_cast<double>(processes.bytes_sent() - sent));
    seconds.push_back(largest_of(processes, taken));
    waited.push_back(mean_of(processes, mine));
  }
  line.seconds = spread_of(seconds);
  line.waited = spread_of(waited).median;
}

double distance(ConstTensorView a, ConstTensorView b) {
  const Tensor left = copy_of(a), right = copy_of(b);
  double largest = 0;
  for (std::size_t i = 0; i < left.values<float>().size(); ++i) {
    const double apart = std::abs(left.values<float>()[i] - right.values<float>()[i]);
    if (!(apart <= largest)) largest = apart;
  }
  return largest;
}

struct OneProcess {
  Tensor out, d_q, d_k, d_v;
  RowState state;
};

class RingBench {
 public:
  RingBench(const BenchSettings& settings, Processes& processes)
      : settings_(settings),
        processes_(processes),
        n_(settings.quick ? kRingTokensQuick : kRingTokens),
        inputs_(n_, processes),
        whole_{Tensor(DType::f32, inputs_.whole.q.shape()), Tensor(DType::f32, inputs_.whole.q.shape()),
               Tensor(DType::f32, inputs_.whole.q.shape()), Tensor(DType::f32, inputs_.whole.q.shape()),
               RowState(inputs_.whole.q)} {
    options_.causal = true;
  }

  std::vector<Line> run() {
    one_process();
    for (const SpreadWay way : {SpreadWay::ring, SpreadWay::gathered, SpreadWay::heads}) spread(way);
    return std::move(lines_);
  }

  std::int64_t tokens() const { return n_; }

 private:
  // Every process computes the whole, to compare with; the first one's time counts, taken while the others
  // wait.
  void one_process() {
    const auto& [q, k, v] = inputs_.whole;
    const auto forward = [&] { attention(q, k, v, options_, whole_.out, whole_.state); };
    const auto backward = [&] {
      attention_backward(q, k, v, options_, whole_.out, whole_.state, inputs_.d_out,
                         {.q = whole_.d_q, .k = whole_.d_k, .v = whole_.d_v});
    };
    const auto alone = [&](Direction direction, const auto& run) {
      Line line{.name = "one process", .direction = direction};
      settings_.progress("ring: one process");
      std::vector<double> seconds;
      for (int turn = 0; turn < processes_.count(); ++turn) {
        of_all(processes_, 0);
        if (turn != processes_.rank()) continue;
        for (int round = 0; round < (turn == 0 ? kRingRounds : 1); ++round)
          seconds.push_back(seconds_of(run));
      }
      line.seconds = spread_of(seconds);
      of_all(processes_, 0);
      lines_.push_back(line);
    };
    alone(Direction::forward, forward);
    alone(Direction::backward, backward);
    check_output("one process", inputs_.whole, options_, whole_.out);
  }

  void spread(SpreadWay way) {
    const SpreadLengths lengths{n_, n_};
    const SpreadShape shape{1, kRingHeads, kRingHeads, kRingHeadSize, kRingHeadSize};
    Tensor out(DType::f32, inputs_.q.shape()), d_q(DType::f32, inputs_.q.shape()),
        d_k(DType::f32, inputs_.k.shape()), d_v(DType::f32, inputs_.v.shape());
    RowState state(inputs_.q);
    const double bound = way == SpreadWay::ring ? kRingNoise : 0;
    Line forward{.name = std::string(name_of(way)),
                 .direction = Direction::forward,
                 .predicted = spread_forward_bytes(way, lengths, shape, processes_.count())};
    settings_.progress("ring: " + forward.name);
    measure_together(forward, processes_, [&] {
      spread_attention(processes_, way, lengths, inputs_.q, inputs_.k, inputs_.v, options_, out, state);
    });
    forward.error = require_below(forward.name, {{out, whole_.out}}, bound);
    Line backward{.name = forward.name,
                  .direction = Direction::backward,
                  .predicted = spread_backward_bytes(way, lengths, shape, processes_.count())};
    measure_together(backward, processes_, [&] {
      spread_attention_backward(processes_, way, lengths, inputs_.q, inputs_.k, inputs_.v, options_, out,
                                state, inputs_.own_d_out, {.q = d_q, .k = d_k, .v = d_v});
    });
    backward.error = require_below(backward.name + " backward",
                                   {{d_q, whole_.d_q}, {d_k, whole_.d_k}, {d_v, whole_.d_v}}, 10 * bound);
    lines_.push_back(forward);
    lines_.push_back(backward);
  }

  double require_below(const std::string& what,
                       const std::vector<std::pair<ConstTensorView, ConstTensorView>>& pairs, double bound) {
    double largest = 0;
    for (const auto& [got, whole] : pairs) largest = std::max(largest, distance(got, inputs_.own(whole)));
    largest = largest_of(processes_, largest);
    if (!(largest <= bound))
      throw WrongAnswer(what + " is " + std::to_string(largest) + " away from one process");
    return largest;
  }

  const BenchSettings& settings_;
  Processes& processes_;
  std::int64_t n_;
  RingInputs inputs_;
  OneProcess whole_;
  AttentionOptions options_;
  std::vector<Line> lines_;
};

std::string percentage(double share) { return draw::format_number(100 * share, {.decimals = 2}) + "%"; }

draw::Table ring_table(const std::vector<Line>& lines, Direction direction, int count) {
  draw::Table table{
      .title = direction == Direction::forward ? "forward" : "backward",
      .label_header = "way",
      .columns = {{"time"}, {"quartiles"}, {"waited"}, {"sent"}, {"predicted"}, {"apart"}, {"max error"}},
      .rows = {}};
  for (const Line& line : lines) {
    if (line.direction != direction) continue;
    const bool alone = line.name == "one process";
    const auto bytes = [&](double value) { return alone || count == 1 ? "" : format_bytes(value); };
    char error[32];
    std::snprintf(error, sizeof error, "%.1e", line.error);
    table.rows.push_back(
        {.label = line.name,
         .cells = {format_seconds(line.seconds.median),
                   format_seconds(line.seconds.low) + " – " + format_seconds(line.seconds.high),
                   alone ? "" : format_seconds(line.waited), bytes(line.sent), bytes(line.predicted),
                   alone || count == 1 ? "" : percentage(std::abs(line.sent / line.predicted - 1)),
                   alone             ? ""
                   : line.error == 0 ? "same bits"
                                     : error}});
  }
  return table;
}

}  // namespace

Report bench_ring(const BenchSettings& settings, Processes& processes) {
  RingBench bench(settings, processes);
  const std::vector<Line> lines = bench.run();
  const std::int64_t n = bench.tokens();
  Report report;
  report.title = "Ring";
  double peak_flops = 0;
  const double peak_seconds = seconds_of([&] { peak_flops = run_multiply_adds(); });
  for (const Line& line : lines) {
    Record record;
    record.bench = "ring";
    record.name = line.name + (line.direction == Direction::forward ? " fwd" : " bwd");
    record.direction = line.direction;
    record.causal = true;
    record.shape = {1, kRingHeads, kRingHeads, n, n, kRingHeadSize};
    record.flops = attention_flops(record.shape, line.direction, true);
    record.threads = threads();
    record.seconds = line.seconds;
    const int count = line.name == "one process" ? 1 : processes.count();
    record.peak_flops = count * peak_flops / peak_seconds;
    const double share = record.share_of_peak();
    record.share = {share, share, share};
    record.rounds = kRingRounds;
    record.error = line.error;
    record.more = {{"processes", count},
                   {"seconds_waited", line.waited},
                   {"bytes_sent", line.sent},
                   {"bytes_predicted", line.predicted}};
    report.records.push_back(std::move(record));
  }
  for (const Direction direction : {Direction::forward, Direction::backward})
    report.tables.push_back(ring_table(lines, direction, processes.count()));
  const std::string count = std::to_string(processes.count());
  report.notes = {
      (processes.count() == 1 ? "One process" : count + " processes") + " with " + std::to_string(threads()) +
      (threads() == 1 ? " thread" : " threads") + " each; " + std::to_string(n) + " tokens, " +
      std::to_string(kRingHeads) + " heads of " + std::to_string(kRingHeadSize) +
      ", causal, f32. A time is that of the slowest process; waited is what communication adds to computing, "
      "the mean over the processes; sent is counted, the mean over the processes. The error is the distance "
      "from one process."};
  if (processes.count() == 1)
    report.notes.push_back(
        "Nothing is sent by one process alone. Try: mpirun -n 4 attend bench ring --threads 1");
  return report;
}

}  // namespace attend::bench
