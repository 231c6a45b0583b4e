#include "spread/spread_checks.h"

#include <attend/reference_attention.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "spread/sums.h"
#include "support/compare.h"
#include "support/random.h"

namespace attend {
namespace {

constexpr SpreadWay kWays[] = {SpreadWay::ring, SpreadWay::gathered, SpreadWay::heads};
// Of numbers near 1: partial results are merged in f64 and stored in f32, once for each block.
constexpr double kMergeNoise = 4e-6, kGradientNoise = 4e-5;

struct Whole {
  explicit Whole(const SpreadCase& one)
      : q(random_normal({one.batch, one.query_heads, one.queries, one.d}, one.dtype, 1)),
        k(random_normal({one.batch, one.key_heads, one.keys, one.d}, one.dtype, 2)),
        v(random_normal({one.batch, one.key_heads, one.keys, one.dv}, one.dtype, 3)),
        d_out(random_normal({one.batch, one.query_heads, one.queries, one.dv}, one.dtype, 4)),
        options(one.options) {
    if (!one.masked) return;
    mask = random_boolean({one.query_heads, one.queries, one.keys}, 5, 0.8);
    bias = random_normal({one.queries, one.keys}, DType::f32, 6);
    options.mask = mask;
    options.bias = bias;
  }
  Tensor q, k, v, d_out, mask, bias;
  AttentionOptions options;
};

// This process's rows of a tensor of the whole sequence, along an axis.
Tensor own_rows(const Processes& processes, ConstTensorView whole, int axis = 2) {
  const ZigzagCut cut(whole.size(axis), processes.count());
  Dims shape = whole.shape();
  shape[axis] = cut.rows_of(processes.rank());
  Tensor own(whole.dtype(), shape);
  std::int64_t at = 0;
  for (const RowChunk& chunk : cut.chunks_of(processes.rank())) {
    copy(whole.slice(axis, chunk.first, chunk.last), own.view().slice(axis, at, at + chunk.rows()));
    at += chunk.rows();
  }
  return own;
}

struct Own {
  Own(const Processes& processes, const SpreadCase& one, const Whole& whole)
      : q(own_rows(processes, whole.q)),
        k(own_rows(processes, whole.k)),
        v(own_rows(processes, whole.v)),
        d_out(own_rows(processes, whole.d_out)),
        options(whole.options),
        lengths{one.queries, one.keys} {
    if (!one.masked) return;
    mask = own_rows(processes, whole.mask, 1);
    bias = own_rows(processes, whole.bias, 0);
    options.mask = mask;
    options.bias = bias;
  }
  Tensor q, k, v, d_out, mask, bias;
  AttentionOptions options;
  SpreadLengths lengths;
};

struct Result {
  Tensor out;
  RowState state;
};

Result run_forward(Processes& processes, SpreadWay way, const Own& own) {
  Dims shape = own.q.shape();
  shape[3] = own.v.size(3);
  Result result{Tensor(own.q.dtype(), shape), RowState(own.q)};
  spread_attention(processes, way, own.lengths, own.q, own.k, own.v, own.options, result.out, result.state);
  return result;
}

Result run_whole(const Whole& whole) {
  Result result{Tensor(whole.q.dtype(), whole.d_out.shape()), RowState(whole.q)};
  attention(whole.q, whole.k, whole.v, whole.options, result.out, result.state);
  return result;
}

// Where a table has rows for each query, heads alone are not enough.
bool takes(SpreadWay way, const SpreadCase& one) { return way != SpreadWay::heads || !one.masked; }

std::string label(const Processes& processes, SpreadWay way, const SpreadCase& one) {
  return one.name + ", " + std::string(name_of(way)) + ", process " + std::to_string(processes.rank()) +
         " of " + std::to_string(processes.count());
}

// The largest difference as a share of the largest value, at least 1.
double relative_difference(ConstTensorView a, ConstTensorView b) {
  double largest = 1;
  for (const double value : values_of(b)) largest = std::max(largest, std::abs(value));
  return max_abs_difference(a, b) / largest;
}

struct Gradients {
  Gradients(ConstTensorView q_, ConstTensorView k_, ConstTensorView v_, const AttentionOptions& options,
            DType type)
      : q(type, q_.shape()), k(type, k_.shape()), v(type, v_.shape()) {
    if (!options.alibi_slopes.empty()) slopes = Tensor(DType::f64, {q_.size(1)});
    if (!options.sinks.empty()) sinks = Tensor(DType::f64, {q_.size(1)});
  }
  AttentionGradients wanted() {
    AttentionGradients all{.q = q, .k = k, .v = v};
    if (slopes.rank() == 1 && slopes.count() > 0) all.alibi_slopes = slopes;
    if (sinks.rank() == 1 && sinks.count() > 0) all.sinks = sinks;
    return all;
  }
  Tensor q, k, v, slopes, sinks;
};

Gradients run_backward(Processes& processes, SpreadWay way, const Own& own, const Result& forward) {
  Gradients gradients(own.q, own.k, own.v, own.options, own.q.dtype());
  spread_attention_backward(processes, way, own.lengths, own.q, own.k, own.v, own.options, forward.out,
                            forward.state, own.d_out, gradients.wanted());
  return gradients;
}

}  // namespace

std::vector<SpreadCase> spread_cases() {
  const std::vector<double> slopes{0.5, 0.25, 0.125, 0.0625}, sinks{0.3, -1, 2, 0};
  std::vector<SpreadCase> cases;
  const auto add = [&](SpreadCase one) { cases.push_back(std::move(one)); };
  add({.name = "plain"});
  add({.name = "causal", .queries = 300, .keys = 300, .options = {.causal = true}});
  add({.name = "window", .options = {.window = {9, 3}}});
  add({.name = "causal window, softcap, scale",
       .options = {.scale = 0.3, .causal = true, .window = {17, -1}, .softcap = 2}});
  add({.name = "slopes", .options = {.alibi_slopes = slopes}});
  add({.name = "causal, slopes and sinks",
       .options = {.causal = true, .alibi_slopes = slopes, .sinks = sinks}});
  add({.name = "batch with key lengths", .batch = 2, .options = {.key_lengths = {40, 7}, .sinks = sinks}});
  add({.name = "cross, other head sizes", .key_heads = 4, .queries = 33, .keys = 75, .d = 24, .dv = 8});
  add({.name = "bottom right",
       .queries = 40,
       .keys = 71,
       .options = {.causal = true, .query_offset = QueryOffset::bottom_right()}});
  add({.name = "offset before the keys",
       .options = {
           .causal = true, .query_offset = -20, .sinks = sinks}});  // rows that see nothing but the sink
  add({.name = "few queries", .queries = 20, .keys = 200});         // 8 or fewer in a process
  add({.name = "decoded", .queries = 5, .keys = 600});
  add({.name = "fewer rows than chunks", .queries = 3, .keys = 3});
  add({.name = "no rows", .queries = 0, .keys = 0});
  add({.name = "mask and bias", .options = {.causal = true}, .masked = true});
  add({.name = "bf16", .dtype = DType::bf16});
  return cases;
}

void check_forward(Processes& processes, const SpreadCase& one) {
  const Whole whole(one);
  const Own own(processes, one, whole);
  const Result expected = run_whole(whole);
  Tensor exact(DType::f64, whole.d_out.shape());
  reference::attention(whole.q, whole.k, whole.v, whole.options, exact);
  for (const SpreadWay way : kWays) {
    if (!takes(way, one)) continue;
    SCOPED_TRACE(label(processes, way, one));
    const Result result = run_forward(processes, way, own);
    if (way != SpreadWay::ring) {
      EXPECT_TRUE(same_bits(result.out, own_rows(processes, expected.out)));
      EXPECT_TRUE(same_bits(result.state.max, own_rows(processes, expected.state.max)));
      EXPECT_TRUE(same_bits(result.state.sum, own_rows(processes, expected.state.sum)));
      continue;
    }
    const double bound = one.dtype == DType::bf16 ? 0.03 : kMergeNoise;
    EXPECT_LE(max_abs_difference(result.out, own_rows(processes, exact)), bound);
    const Result again = run_forward(processes, way, own);
    EXPECT_TRUE(same_bits(result.out, again.out));
    EXPECT_TRUE(same_bits(result.state.max, again.state.max));
    EXPECT_TRUE(same_bits(result.state.sum, again.state.sum));
  }
}

void check_backward(Processes& processes, const SpreadCase& one) {
  const Whole whole(one);
  const Own own(processes, one, whole);
  const Result forward = run_whole(whole);
  Gradients expected(whole.q, whole.k, whole.v, whole.options, one.dtype),
      exact(whole.q, whole.k, whole.v, whole.options, DType::f64);
  attention_backward(whole.q, whole.k, whole.v, whole.options, forward.out, forward.state, whole.d_out,
                     expected.wanted());
  reference::attention_backward(whole.q, whole.k, whole.v, whole.options, whole.d_out, exact.wanted());
  for (const SpreadWay way : kWays) {
    if (!takes(SpreadWay::heads, one) && way != SpreadWay::ring) continue;
    SCOPED_TRACE(label(processes, way, one));
    const Gradients got = run_backward(processes, way, own, run_forward(processes, way, own));
    if (way != SpreadWay::ring) {
      EXPECT_TRUE(same_bits(got.q, own_rows(processes, expected.q)));
      EXPECT_TRUE(same_bits(got.k, own_rows(processes, expected.k)));
      EXPECT_TRUE(same_bits(got.v, own_rows(processes, expected.v)));
      EXPECT_TRUE(same_bits(got.slopes, expected.slopes));
      EXPECT_TRUE(same_bits(got.sinks, expected.sinks));
      continue;
    }
    const double bound = one.dtype == DType::bf16 ? 0.03 : kGradientNoise;
    EXPECT_LE(relative_difference(got.q, own_rows(processes, exact.q)), bound);
    EXPECT_LE(relative_difference(got.k, own_rows(processes, exact.k)), bound);
    EXPECT_LE(relative_difference(got.v, own_rows(processes, exact.v)), bound);
    EXPECT_LE(relative_difference(got.slopes, exact.slopes), bound);
    EXPECT_LE(relative_difference(got.sinks, exact.sinks), bound);
    const Gradients again = run_backward(processes, way, own, run_forward(processes, way, own));
    EXPECT_TRUE(same_bits(got.q, again.q));
    EXPECT_TRUE(same_bits(got.k, again.k));
    EXPECT_TRUE(same_bits(got.v, again.v));
  }
}

void check_weights(Processes& processes, const SpreadCase& one) {
  const Whole whole(one);
  const Own own(processes, one, whole);
  const Result forward = run_whole(whole);
  const WeightsRequest request{.top_k = 4, .received = true, .entropy = true};
  const WeightsSummary expected = summarize_weights(whole.q, whole.k, whole.options, request, forward.state);
  for (const SpreadWay way : kWays) {
    if (!takes(SpreadWay::heads, one) && way != SpreadWay::ring) continue;
    SCOPED_TRACE(label(processes, way, one));
    const Result own_forward = run_forward(processes, way, own);
    const auto ask = [&](const WeightsRequest& wanted) {
      return spread_weights(processes, way, own.lengths, own.q, own.k, own.options, wanted,
                            own_forward.state);
    };
    const WeightsSummary got = ask(request);
    const Tensor top_keys = own_rows(processes, expected.top_keys),
                 top_weights = own_rows(processes, expected.top_weights),
                 entropy = own_rows(processes, expected.entropy),
                 received = own_rows(processes, expected.received);
    if (way != SpreadWay::ring) {
      EXPECT_TRUE(same_bits(got.top_keys, top_keys));
      EXPECT_TRUE(same_bits(got.top_weights, top_weights));
      EXPECT_TRUE(same_bits(got.entropy, entropy));
      EXPECT_TRUE(same_bits(got.received, received));
      const WeightsSummary rows =
          ask({.top_k = 4, .entropy = true});  // gathered: without an exchange by heads
      EXPECT_TRUE(same_bits(rows.top_keys, top_keys));
      EXPECT_TRUE(same_bits(rows.top_weights, top_weights));
      EXPECT_TRUE(same_bits(rows.entropy, entropy));
      continue;
    }
    const double bound = one.dtype == DType::bf16 ? 0.03 : 1e-5;
    EXPECT_LE(max_abs_difference(got.top_weights, top_weights), bound);
    EXPECT_LE(max_abs_difference(got.entropy, entropy), bound);
    EXPECT_LE(relative_difference(got.received, received), bound);
    if (one.dtype == DType::f32) {
      EXPECT_TRUE(same_bits(got.top_keys, top_keys));
    }
  }
}

void check_volume(Processes& processes) {
  const SpreadCase one{
      .name = "volume", .query_heads = 12, .key_heads = 12, .queries = 240, .keys = 240, .d = 8, .dv = 16};
  const SpreadShape shape{.query_heads = 12, .key_heads = 12, .d = 8, .dv = 16};
  const Whole whole(one);
  const Own own(processes, one, whole);
  // The mean over the processes of what each has sent.
  const auto sent_by = [&](const auto& run) {
    const std::int64_t before = processes.bytes_sent();
    run();
    std::vector<double> sent{static_cast<double>(processes.bytes_sent() - before)};
    spread::add_over_processes(processes, sent);
    return sent[0] / processes.count();
  };
  for (const SpreadWay way : kWays) {
    SCOPED_TRACE(label(processes, way, one));
    Result forward;
    const double forward_sent = sent_by([&] { forward = run_forward(processes, way, own); });
    const double forward_bytes = spread_forward_bytes(way, own.lengths, shape, processes.count());
    EXPECT_NEAR(forward_sent, forward_bytes, 0.01 * forward_bytes);
    const double backward_sent = sent_by([&] { run_backward(processes, way, own, forward); });
    const double backward_bytes = spread_backward_bytes(way, own.lengths, shape, processes.count());
    EXPECT_NEAR(backward_sent, backward_bytes, 0.01 * backward_bytes);
    for (const bool received : {false, true}) {
      const WeightsRequest request{.top_k = 3, .received = received, .entropy = true};
      const double weights_sent = sent_by([&] {
        spread_weights(processes, way, own.lengths, own.q, own.k, own.options, request, forward.state);
      });
      const double weights_bytes = spread_weights_bytes(way, own.lengths, shape, request, processes.count());
      EXPECT_NEAR(weights_sent, weights_bytes, 0.01 * weights_bytes);
    }
  }
}

void check_messages(Processes& processes, std::size_t bytes) {
  const auto contents = [](int from, std::size_t which, std::size_t size) {
    std::vector<std::byte> message(size);
    for (std::size_t i = 0; i < size; ++i)
      message[i] = static_cast<std::byte>((i * 31 + which * 7 + static_cast<std::size_t>(from)) & 255);
    return message;
  };
  const auto memory = std::make_shared<std::vector<std::vector<std::byte>>>();
  memory->reserve(static_cast<std::size_t>(6 * processes.count()));
  std::vector<Outgoing> outgoing;
  std::vector<Incoming> incoming;
  const std::size_t sizes[] = {bytes, 0, 1};
  for (int other = 0; other < processes.count(); ++other) {
    if (other == processes.rank()) continue;
    for (std::size_t which = 0; which < std::size(sizes); ++which) {
      outgoing.push_back({other, memory->emplace_back(contents(processes.rank(), which, sizes[which]))});
      incoming.push_back({other, memory->emplace_back(sizes[which])});
    }
  }
  processes.start(outgoing, incoming, memory)->wait();
  std::size_t which = 0;
  for (const Incoming& message : incoming) {
    const std::vector<std::byte> expected = contents(message.from, which % 3, sizes[which % 3]);
    ++which;
    EXPECT_TRUE(std::ranges::equal(message.bytes, expected)) << "from " << message.from;
  }
}

}  // namespace attend
