// The caller's stream: nothing waits, everything is in order, and a graph may capture it.
#include <attend/attention.h>
#include <attend/stream.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "cuda/driver.h"
#include "cuda/on_gpu.h"
#include "support/compare.h"
#include "support/random.h"
#include "support/refuses.h"

namespace attend {
namespace {

using driver::Graph;
using driver::Stream;

struct Case {
  std::string name;
  DType dtype;
  std::int64_t batch, heads, key_heads, queries, keys, d;
  AttentionOptions options{};
};

// Those with tables of their own: lengths, slopes, sinks; kernels of both kinds; copies that align.
std::vector<Case> cases() {
  std::vector<Case> all;
  for (const DType dtype : {DType::bf16, DType::f32}) {
    all.push_back({"plain", dtype, 2, 4, 4, 200, 200, 64, {}});
    all.push_back({"causal", dtype, 1, 4, 2, 130, 150, 128, {.causal = true}});
    all.push_back({"lengths", dtype, 3, 2, 2, 70, 90, 64, {.causal = true, .key_lengths = {90, 3, 41}}});
    all.push_back({"sinks", dtype, 1, 4, 4, 65, 65, 64, {.sinks = {0.5, -1, 2, 0}}});
    all.push_back({"slopes", dtype, 1, 2, 2, 65, 65, 64, {.alibi_slopes = {0.5, 0.25}, .softcap = 20}});
    all.push_back({"odd size", dtype, 1, 2, 2, 65, 65, 37, {.window = {9, 4}}});
    all.push_back({"one query", dtype, 2, 4, 2, 1, 300, 64, {.key_lengths = {300, 17}}});
    std::vector<std::int64_t> lengths(2000);  // a table that takes several pieces
    for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] = static_cast<std::int64_t>(i % 4);
    all.push_back({"many sequences", dtype, 2000, 1, 1, 2, 3, 8, {.key_lengths = lengths}});
  }
  return all;
}

struct Tensors {
  Tensor q, k, v, out, max, sum;

  Tensors(const Case& one, std::uint64_t seed)
      : q(to_gpu(random_normal({one.batch, one.heads, one.queries, one.d}, one.dtype, seed))),
        k(to_gpu(random_normal({one.batch, one.key_heads, one.keys, one.d}, one.dtype, seed + 1))),
        v(to_gpu(random_normal({one.batch, one.key_heads, one.keys, one.d}, one.dtype, seed + 2))),
        out(one.dtype, q.shape(), kGpu),
        max(DType::f32, q.shape().without(3), kGpu),
        sum(DType::f32, q.shape().without(3), kGpu) {}
  void run(const Case& one) { attention(q, k, v, one.options, out, {max, sum}); }
};

void expect_same_results(const Case& one, const Tensors& a, const Tensors& b) {
  EXPECT_TRUE(same_bits(to_host(a.out), to_host(b.out))) << one.name << " " << name_of(one.dtype);
  EXPECT_TRUE(same_bits(to_host(a.max), to_host(b.max))) << one.name;
  EXPECT_TRUE(same_bits(to_host(a.sum), to_host(b.sum))) << one.name;
}

TEST(GpuStream, AStreamGivesTheBitsOfTheNullStream) {
  ATTEND_NEEDS_GPU();
  const Stream stream;
  for (const Case& one : cases()) {
    Tensors expected(one, 1);
    expected.run(one);
    const StreamScope scope(kGpu, stream.get());
    Tensors found(one, 1);
    found.run(one);
    synchronize(kGpu);
    expect_same_results(one, found, expected);
  }
  for (void* const numbered : {reinterpret_cast<void*>(1), reinterpret_cast<void*>(2)}) {
    const Case one = cases()[0];
    const StreamScope scope(kGpu, numbered);
    Tensors found(one, 1), again(one, 1);
    found.run(one);
    again.run(one);
    expect_same_results(one, found, again);
  }
}

// f32 by the portable kernel: long enough for everything after it to be queued.
void compute_for_a_while(Tensors& tensors) {
  for (int turn = 0; turn < 3; ++turn) attention(tensors.q, tensors.k, tensors.v, {}, tensors.out);
}
const Case kLong{"long", DType::f32, 1, 16, 16, 8192, 8192, 64, {}};

TEST(GpuStream, NothingWaitsAndEverythingIsInOrder) {
  ATTEND_NEEDS_GPU();
  const Stream stream;
  const StreamScope scope(kGpu, stream.get());
  Tensors first(kLong, 7);
  for (const Case& one : cases())
    Tensors(one, 3).run(one);  // kernels are loaded by their first use, which may wait
  synchronize(kGpu);
  compute_for_a_while(first);
  EXPECT_TRUE(stream.has_work());
  for (const Case& one : cases()) {
    if (one.batch > 100) continue;
    Tensor q(one.dtype, {one.batch, one.heads, one.queries, one.d}, kGpu);
    Tensor k(one.dtype, {one.batch, one.key_heads, one.keys, one.d}, kGpu);
    fill(q, 1);
    fill(k, 2);
    const Tensor out = attention(q, k, k, one.options);
    fill(k, 3);  // after it was read
    EXPECT_TRUE(stream.has_work()) << one.name << " has waited";
  }
  Tensor ones(DType::f32, {1, 1, 64, 64}, kGpu);
  fill(ones, 1);
  const Tensor kept = attention(ones, ones, ones);
  fill(ones, 5);
  EXPECT_TRUE(stream.has_work());
  Tensor expected(DType::f32, {1, 1, 64, 64});
  fill(expected, 1);
  EXPECT_TRUE(same_bits(to_host(kept), expected));  // a copy to the host waits
  EXPECT_FALSE(stream.has_work());
}

TEST(GpuStream, OneStreamWaitsForAnother) {
  ATTEND_NEEDS_GPU();
  const Stream slow, other;
  Tensor x(DType::f32, {1000}, kGpu), seen(DType::f32, {1000}, kGpu), threes(DType::f32, {1000});
  fill(threes, 3);
  synchronize(kGpu);
  {
    const StreamScope scope(kGpu, slow.get());
    Tensors work(kLong, 7);
    compute_for_a_while(work);
    fill(x, 3);
    EXPECT_TRUE(slow.has_work());
  }
  const StreamScope scope(kGpu, other.get());
  wait_for_stream(kGpu, slow.get());
  copy(x, seen);
  EXPECT_TRUE(same_bits(to_host(seen), threes));
}

TEST(GpuStream, AGraphCapturesAttention) {
  ATTEND_NEEDS_GPU();
  const Stream stream;
  for (const Case& one : cases()) {
    Tensors tensors(one, 1), other(one, 11);
    tensors.run(one);
    other.run(one);
    synchronize(kGpu);
    Tensors recorded(one, 1);
    const StreamScope scope(kGpu, stream.get());
    const Graph graph(stream, [&] { recorded.run(one); });
    for (const Tensors* const expected : {&tensors, &other, &tensors}) {
      copy(expected->q, recorded.q);
      copy(expected->k, recorded.k);
      copy(expected->v, recorded.v);
      fill(recorded.out, 9);
      graph.launch(stream);
      synchronize(kGpu);
      expect_same_results(one, recorded, *expected);
    }
  }
}

// A tensor that is made while a graph is captured is written each time the graph is launched.
TEST(GpuStream, ATensorOfACaptureBelongsToItsGraph) {
  ATTEND_NEEDS_GPU();
  const Stream stream;
  const Case one = cases()[0];
  Tensors expected(one, 1), other(one, 11);
  expected.run(one);
  other.run(one);
  synchronize(kGpu);
  const StreamScope scope(kGpu, stream.get());
  Tensors in(one, 1);
  for (int turn = 0; turn < 2; ++turn) {
    Tensor made, temporary_copy;
    {
      const Graph graph(stream, [&] {
        const Tensor temporary = attention(in.q, in.k, in.v);  // gone before the graph is launched
        made = copy_of(temporary);
      });
      for (const Tensors* const given : {&expected, &other}) {
        copy(given->q, in.q);
        copy(given->k, in.k);
        copy(given->v, in.v);
        const Tensor between(DType::f32, {1 << 16}, kGpu);  // would get the memory of the temporary
        graph.launch(stream);
        EXPECT_TRUE(same_bits(to_host(made), to_host(given->out)));
        EXPECT_TRUE(same_bits(to_host(between), Tensor(DType::f32, {1 << 16})));
      }
    }
    EXPECT_TRUE(same_bits(to_host(made), to_host(other.out)));  // and outlives it
  }
}

TEST(GpuStream, WhatAGraphCannotHoldIsRefused) {
  ATTEND_NEEDS_GPU();
  const Stream stream;
  const StreamScope scope(kGpu, stream.get());
  Tensor x(DType::f32, {16}, kGpu);
  const Graph graph(stream, [&] {
    fill(x, 2);
    EXPECT_REFUSES(to_host(x), "[copy] cannot copy from one memory to another on a stream that a graph is");
    EXPECT_REFUSES(synchronize(kGpu), "[synchronize] cannot wait for a stream that a graph is");
  });
  graph.launch(stream);
  Tensor twos(DType::f32, {16});
  fill(twos, 2);
  EXPECT_TRUE(same_bits(to_host(x), twos));
}

TEST(GpuStream, WhatIsNoStreamIsRefusedAndTheNextCallWorks) {
  ATTEND_NEEDS_GPU();
  const Tensor q = to_gpu(random_normal({1, 1, 32, 16}, DType::f32, 1));
  const Tensor expected = to_host(attention(q, q, q));
  Tensor out(DType::f32, q.shape(), kGpu);
  for (const std::uintptr_t number : {3, 77, 0x10000001}) {
    const StreamScope scope(kGpu, reinterpret_cast<void*>(number));
    EXPECT_REFUSES(attention(q, q, q, {}, out), "as a stream, which is not the address of one");
    EXPECT_REFUSES(Tensor(DType::f32, {4}, kGpu), "as a stream, which is not the address of one");
    EXPECT_REFUSES(synchronize(kGpu), "[synchronize] is given");
  }
  attention(q, q, q, {}, out);
  EXPECT_TRUE(same_bits(to_host(out), expected));
}

TEST(GpuStream, TensorsOutliveTheirStream) {
  ATTEND_NEEDS_GPU();
  const Tensor q = to_gpu(random_normal({1, 1, 32, 16}, DType::f32, 1));
  const Tensor expected = to_host(attention(q, q, q));
  for (int turn = 0; turn < 3; ++turn) {
    Tensor kept;
    {
      const Stream stream;
      const StreamScope scope(kGpu, stream.get());
      kept = attention(q, q, q);
      synchronize(kGpu);
    }
    EXPECT_TRUE(same_bits(to_host(kept), expected));
  }
}

TEST(GpuStream, ThreadsHaveStreamsOfTheirOwn) {
  ATTEND_NEEDS_GPU();
  const Case one = cases()[2];
  Tensors expected(one, 1);
  expected.run(one);
  const Tensor out = to_host(expected.out);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const Stream stream;
      const StreamScope scope(kGpu, stream.get());
      for (int turn = 0; turn < 20; ++turn) {
        Tensors tensors(one, 1);
        tensors.run(one);
        EXPECT_TRUE(same_bits(to_host(tensors.out), out));
      }
      synchronize(kGpu);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace attend
