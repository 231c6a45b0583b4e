// A device is one row of the table of operations: every public operation goes through it, operands on two
// devices are refused, and host code refuses memory that it cannot read.
#include <gtest/gtest.h>

#include <attend/attend.h>

#include <cmath>
#include <functional>
#include <thread>
#include <vector>

#include "base/operations.h"
#include "nn/gru.h"
#include "nn/linear.h"
#include "nn/linear_gradient.h"
#include "support/compare.h"
#include "support/fake_device.h"
#include "support/random.h"
#include "support/refuses.h"

namespace attend {
namespace {

using Views = std::vector<ConstTensorView>;
using Outs = std::vector<TensorView>;

// Runs `body` on the host and on the device, and compares every bit of every output.
void expect_same(const char* what, const std::vector<Tensor>& inputs, const std::vector<Dims>& outputs,
                 const std::function<void(const Views&, const Outs&)>& body) {
  const auto run = [&](Device device) {
    std::vector<Tensor> in, out;
    for (const Tensor& input : inputs) in.push_back(copy_of(input, device));
    for (const Dims& shape : outputs) {
      out.emplace_back(DType::f32, shape, device);
      fill(out.back(), 0.25);
    }
    Views views(in.begin(), in.end());
    Outs outs;
    for (Tensor& tensor : out) outs.push_back(tensor);
    body(views, outs);
    std::vector<Tensor> back;
    for (const Tensor& tensor : out) back.push_back(here(tensor));
    return back;
  };
  const std::vector<Tensor> expected = run(Device{}), found = run(kFakeDevice);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(same_bits(found[i], expected[i])) << what << ", output " << i;
  }
}

Tensor normal(const Dims& shape, std::uint64_t seed) { return random_normal(shape, DType::f32, seed); }

template <class... Tensors>
std::vector<Tensor> all(Tensors... tensors) {
  std::vector<Tensor> result;
  (result.push_back(std::move(tensors)), ...);
  return result;
}

void expect_same_rows() {
  const auto x = [] { return normal({3, 8}, 1); };
  const auto d = [] { return normal({3, 8}, 2); };
  const auto g = [] { return normal({8}, 3); };
  using V = const Views&;
  using O = const Outs&;
  expect_same("add", all(x(), d()), {{3, 8}}, [](V in, O out) { add(in[0], in[1], out[0]); });
  expect_same("gelu", all(x()), {{3, 8}}, [](V in, O out) { gelu(in[0], out[0]); });
  expect_same("gelu_tanh", all(x()), {{3, 8}}, [](V in, O out) { gelu_tanh(in[0], out[0]); });
  expect_same("relu", all(x()), {{3, 8}}, [](V in, O out) { relu(in[0], out[0]); });
  expect_same("gelu_backward", all(x(), d()), {{3, 8}},
              [](V in, O out) { gelu_backward(in[0], in[1], out[0]); });
  expect_same("gelu_tanh_backward", all(x(), d()), {{3, 8}},
              [](V in, O out) { gelu_tanh_backward(in[0], in[1], out[0]); });
  expect_same("relu_backward", all(x(), d()), {{3, 8}},
              [](V in, O out) { relu_backward(in[0], in[1], out[0]); });
  expect_same("swiglu", all(x(), d()), {{3, 8}}, [](V in, O out) { swiglu(in[0], in[1], out[0]); });
  expect_same("swiglu_backward", all(x(), d(), normal({3, 8}, 4)), {{3, 8}, {3, 8}},
              [](V in, O out) { swiglu_backward(in[0], in[1], in[2], out[0], out[1]); });
  expect_same("softmax", all(x()), {{3, 8}},
              [](V in, O out) { softmax(in[0].transposed(0, 1), out[0].transposed(0, 1)); });
  expect_same("layer_norm", all(x(), g(), normal({8}, 5)), {{3, 8}, {3}, {3}}, [](V in, O out) {
    layer_norm(in[0], in[1], in[2], 1e-5, out[0], {out[1], out[2]});
  });
  expect_same("add_layer_norm", all(x(), d(), g()), {{3, 8}},
              [](V in, O out) { add_layer_norm(in[0], in[1], in[2], {}, 1e-5, out[0]); });
  expect_same("layer_norm_backward", all(x(), d(), g()), {{3, 8}, {8}, {8}}, [](V in, O out) {
    layer_norm_backward(in[0], in[2], 1e-5, in[1], {out[0], out[1], out[2]}, in[1]);
  });
  expect_same("rms_norm", all(x(), g()), {{3, 8}}, [](V in, O out) { rms_norm(in[0], in[1], 1e-5, out[0]); });
  expect_same("rms_norm_backward", all(x(), d(), g()), {{3, 8}, {8}}, [](V in, O out) {
    rms_norm_backward(in[0], in[2], 1e-5, in[1], {out[0], out[1]});
  });
  expect_same("dropout", all(x()), {{3, 8}}, [](V in, O out) { dropout(in[0], {0.5, 7, 1}, out[0]); });
  const std::int32_t targets[] = {1, kNoTarget, 7};
  expect_same("cross_entropy", all(x()), {{3, 8}, {1}}, [&](V in, O out) {
    const CrossEntropy result = cross_entropy(in[0], targets, 0.5, out[0]);
    fill(out[1], result.loss);
  });
}

void expect_same_tables() {
  const std::int32_t ids[] = {4, 0, 4};
  const std::int64_t positions[] = {2, 0, 5};
  using V = const Views&;
  using O = const Outs&;
  expect_same("embedding", all(normal({6, 8}, 1)), {{3, 8}},
              [&](V in, O out) { embedding(ids, in[0], out[0]); });
  expect_same("add_embedding", all(normal({6, 8}, 1)), {{3, 8}},
              [&](V in, O out) { add_embedding(ids, in[0], out[0]); });
  expect_same("add_embedding_gradient", all(normal({3, 8}, 1)), {{6, 8}},
              [&](V in, O out) { add_embedding_gradient(ids, in[0], out[0]); });
  expect_same("add_learned_positions", all(normal({3, 8}, 1), normal({6, 8}, 2)), {{3, 8}},
              [&](V in, O out) { add_learned_positions(in[0], in[1], positions, out[0]); });
  expect_same("sinusoidal_positions", {}, {{3, 8}}, [](V, O out) { sinusoidal_positions(out[0], 4); });
  expect_same("relative_bias", all(normal({32, 2}, 1)), {{2, 3, 5}},
              [](V in, O out) { relative_bias(in[0], {}, 0, out[0]); });
  expect_same("apply_rotary", all(normal({3, 8}, 1)), {{3, 8}, {3, 8}}, [&](V in, O out) {
    apply_rotary(in[0], positions, {}, out[0]);
    apply_rotary(out[0], positions, {}, out[1], true);
  });
  expect_same("apply_rotary_tables", all(normal({3, 8}, 1), normal({3, 4}, 2), normal({3, 4}, 3)), {{3, 8}},
              [](V in, O out) { apply_rotary_tables(in[0], in[1], in[2], RotaryPairing::halves, out[0]); });
}

void expect_same_products() {
  using V = const Views&;
  using O = const Outs&;
  expect_same("matmul", all(normal({3, 8}, 1), normal({8, 5}, 2), normal({5}, 3), normal({3, 5}, 4)),
              {{3, 5}}, [](V in, O out) {
                matmul(in[0], in[1], out[0], {in[2], Activation::gelu, in[3]});
              });
  expect_same("packed", all(normal({3, 8}, 1), normal({8, 5}, 2), normal({5}, 3)), {{3, 5}, {3, 8}, {3, 5}},
              [](V in, O out) {
                const PackedMatrix w(in[1]);
                EXPECT_EQ(w.device(), in[0].device());
                matmul(in[0], w, out[0], {.bias = in[2]});
                matmul(out[0], w.transposed(), out[1]);
                Tensor memory(DType::f32, {PackedMatrix::bytes_needed(8, 5, in[0].device()) / 4},
                              in[0].device());
                matmul(in[0], PackedMatrix(in[1], memory), out[2]);
              });
  expect_same("linear", all(normal({3, 8}, 1), normal({8, 5}, 2), normal({5}, 3)), {{3, 5}},
              [](V in, O out) { linear(in[0], in[1], in[2], out[0]); });
  expect_same("linear_gradients", all(normal({3, 8}, 1), normal({8, 5}, 2), normal({3, 5}, 3)),
              {{3, 8}, {8, 5}, {5}},
              [](V in, O out) { linear_gradients(in[0], in[1], in[2], out[0], out[1], out[2]); });
}

void expect_same_attention() {
  using V = const Views&;
  using O = const Outs&;
  const Dims heads{2, 3, 4, 8}, state{2, 3, 4};
  const auto qkv = [&] {
    return all(normal(heads, 1), normal(heads, 2), normal(heads, 3), normal({4, 4}, 4), normal(heads, 5));
  };
  const auto options = [](V in) {
    AttentionOptions result;
    result.causal = true;
    result.bias = in[3];
    return result;
  };
  expect_same("attention", qkv(), {heads, state, state, heads}, [&](V in, O out) {
    attention(in[0], in[1], in[2], options(in), out[0], {out[1], out[2]});
    copy(attention(in[0], in[1], in[2]), out[3]);
  });
  expect_same("attention_backward", qkv(), {heads, heads, heads, {4, 4}}, [&](V in, O out) {
    Tensor result(DType::f32, heads, in[0].device());
    RowState kept(in[0]);
    attention(in[0], in[1], in[2], options(in), result, kept);
    attention_backward(in[0], in[1], in[2], options(in), result, kept, in[4],
                       {.q = out[0], .k = out[1], .v = out[2], .bias = out[3]});
  });
  expect_same("attention_rows", qkv(), {{2, 3, 2, 4}}, [&](V in, O out) {
    copy(attention_rows(in[0], in[1], options(in), Stage::weights, {.rows = {1, 3}}), out[0]);
  });
  expect_same("summarize_weights", qkv(), {{2, 3, 4, 2}, {2, 3, 4}, {2, 3, 4}, {2, 3, 2, 2}},
              [&](V in, O out) {
                const WeightsSummary summary = summarize_weights(
                    in[0], in[1], options(in),
                    {.top_k = 2, .received = true, .entropy = true, .map_rows = 2, .map_columns = 2});
                EXPECT_EQ(summary.top_keys.device(), in[0].device());
                copy(summary.top_weights, out[0]);
                copy(summary.received, out[1]);
                copy(summary.entropy, out[2]);
                copy(summary.map, out[3]);
              });
  expect_same("row states", qkv(), {state, heads, state, state}, [&](V in, O out) {
    RowState a(in[0]), b(in[0]);
    Tensor first(DType::f32, heads, in[0].device()), second(DType::f32, heads, in[0].device());
    attention(in[0], in[1], in[2], {}, first, a);
    attention(in[0], in[2], in[1], {}, second, b);
    log_sum_exp(a, out[0]);
    merge_attention(first, a, second, b, out[1], {out[2], out[3]});
  });
  expect_same("KeyValueCache", qkv(), {heads}, [&](V in, O out) {
    KeyValueCache cache(DType::f32, 2, 3, 8, 8, 0, in[0].device());
    cache.append(in[1].slice(2, 0, 2), in[2].slice(2, 0, 2));
    cache.append(in[1].slice(2, 2, 4), in[2].slice(2, 2, 4));
    copy(cache.attention(in[0], {.causal = true}), out[0]);
    EXPECT_EQ(attention_kernel(in[0], in[1]).name, "decode");
  });
}

void expect_same_multi_head() {
  using V = const Views&;
  using O = const Outs&;
  const Dims x{1, 3, 8};
  const auto inputs = [&] {
    return all(normal(x, 1), normal({8, 8}, 2), normal({8, 8}, 3), normal({8, 8}, 4), normal({8, 8}, 5),
               normal(x, 6));
  };
  const auto weights = [](V in) {
    return MultiHeadWeights{.wq = in[1], .wk = in[2], .wv = in[3], .wo = in[4]};
  };
  expect_same("multi_head_attention", inputs(), {x},
              [&](V in, O out) { multi_head_attention(in[0], in[0], weights(in), 2, {}, out[0]); });
  expect_same("multi_head_attention_backward", inputs(), {x, x, {8, 8}, {8, 8}}, [&](V in, O out) {
    MultiHeadGradients gradients{.x = out[0], .context = out[1], .wq = out[2], .wo = out[3]};
    multi_head_attention_backward(in[0], in[0], weights(in), 2, {}, in[5], gradients);
  });
  expect_same("self_attention", inputs(), {{3, 8}, {3, 3}}, [&](V in, O out) {
    const AttentionResult result = self_attention(in[0].select(0, 0));
    copy(result.output, out[0]);
    copy(result.weights, out[1]);
  });
}

TEST(Devices, EveryOperationGoesThroughTheRowOfItsDevice) {
  FakeDevice device;
  EXPECT_EQ(devices(), (std::vector<Device>{Device{}, kFakeDevice}));
  expect_same_rows();
  expect_same_tables();
  expect_same_products();
  expect_same_attention();
  expect_same_multi_head();
  synchronize(kFakeDevice);
  wait_for_stream(kFakeDevice, nullptr);
  EXPECT_EQ(device.entries().size() * sizeof(void*), sizeof(Operations)) << "an entry that nothing counts";
  for (const FakeDevice::Entry& entry : device.entries()) EXPECT_GT(*entry.calls, 0) << entry.name;
}

TEST(Devices, AStreamIsThatOfTheThreadAndTheDevice) {
  FakeDevice device;
  int first = 0, second = 0;
  EXPECT_EQ(current_stream(kFakeDevice), nullptr);
  {
    const StreamScope outer(kFakeDevice, &first);
    EXPECT_EQ(current_stream(kFakeDevice), &first);
    EXPECT_EQ(current_stream(Device{DeviceKind::cuda, 1}), nullptr);
    std::thread([] { EXPECT_EQ(current_stream(kFakeDevice), nullptr); }).join();
    {
      const StreamScope inner(kFakeDevice, &second);
      EXPECT_EQ(current_stream(kFakeDevice), &second);
    }
    EXPECT_EQ(current_stream(kFakeDevice), &first);
  }
  EXPECT_EQ(current_stream(kFakeDevice), nullptr);
  EXPECT_EQ(current_stream(Device{}), nullptr);
  EXPECT_REFUSES(StreamScope(Device{}, &first), "[stream] cpu has no streams");
  EXPECT_REFUSES(StreamScope(Device{DeviceKind::cuda, 99}, &first), "[stream] cuda:99 has no streams");
  synchronize(Device{});
  EXPECT_REFUSES(synchronize(Device{DeviceKind::cuda, 9}), "[synchronize] there is no device cuda:9 here");
  EXPECT_REFUSES(wait_for_stream(Device{}, &first), "[wait_for_stream] cpu has no streams");
}

TEST(Devices, TensorsAndViewsKnowTheirs) {
  FakeDevice device;
  const Tensor values = normal({2, 3, 4}, 1);
  Tensor away(DType::f32, {2, 3, 4}, kFakeDevice);
  EXPECT_EQ(away.device(), kFakeDevice);
  EXPECT_TRUE(same_bits(here(away), Tensor(DType::f32, {2, 3, 4}))) << "zeroed";
  copy(values, away);
  EXPECT_TRUE(same_bits(here(away), values));
  const TensorView view = away.view();
  for (const TensorView& other :
       {view.transposed(0, 1), view.select(1, 2), view.slice(2, 1, 3), view.split(2, 2, 2).select(0, 0),
        view.select(0, 0).with_axis(1), view.with_layout({24}, {1})}) {
    EXPECT_EQ(other.device(), kFakeDevice);
    EXPECT_EQ(ConstTensorView(other).device(), kFakeDevice);
  }
  EXPECT_TRUE(same_bits(here(view.transposed(0, 2)), copy_of(values.view().transposed(0, 2))));
  EXPECT_EQ(copy_of(away, DType::bf16).device(), kFakeDevice);
  const Tensor moved = std::move(away);
  EXPECT_EQ(moved.device(), kFakeDevice);
  EXPECT_EQ(RowState(moved.view().with_axis(0)).max.device(), kFakeDevice);
  EXPECT_EQ(Tensor().device(), Device{});
  EXPECT_EQ(to_string(Device{}), "cpu");
  EXPECT_EQ(to_string(kFakeDevice), "cuda:0");
}

TEST(Devices, HostCodeRefusesWhatItCannotRead) {
  FakeDevice device;
  Tensor x = there(normal({2, 4}, 1)), out = there(normal({2, 4}, 2));
  EXPECT_REFUSES(x.view().data<float>(),
                 "[tensor] the data is on cuda:0, where the host cannot read it; copy it first");
  EXPECT_REFUSES(x.values<float>(), "[tensor] the data is on cuda:0");
  EXPECT_REFUSES(x.view().host_data(), "[tensor] the data is on cuda:0");
  EXPECT_REFUSES(reference::gelu(x, out),
                 "[reference::gelu] x is on cuda:0, and this computes on the host only; copy it first");
  EXPECT_REFUSES(reference::layer_norm(x, {}, {}, {}, 0, out), "[reference::layer_norm] x is on cuda:0");
  EXPECT_REFUSES(reference::layer_norm_backward(x, {}, 0, x, {.x = out}), "x is on cuda:0");
  EXPECT_REFUSES(reference::softmax_backward(x, x, out), "weights is on cuda:0");
  EXPECT_REFUSES(reference::matmul(x, there(normal({4, 4}, 1)), out), "a is on cuda:0");
  const Tensor heads = normal({1, 1, 2, 4}, 1), away = there(heads);
  Tensor result(DType::f32, heads.shape()), mask(DType::boolean, {2, 2}, kFakeDevice);
  EXPECT_REFUSES(reference::attention(away, away, away, {}, result), "query is on cuda:0");
  EXPECT_REFUSES(reference::attention(heads, heads, heads, {.mask = mask}, result), "mask is on cuda:0");
  EXPECT_REFUSES(reference::attention_rows(away, away, {}, Stage::weights), "query is on cuda:0");
  EXPECT_REFUSES(reference::summarize_weights(away, away, {}, {.entropy = true}), "query is on cuda:0");
  EXPECT_REFUSES(reference::attention_backward(away, away, away, {}, away, {}), "query is on cuda:0");
  EXPECT_REFUSES(save_npy(testing::TempDir() + "unreadable.npy", x), "[tensor] the data is on cuda:0");
  Tensor numbers = there(normal({1, 2, 4}, 1));
  EXPECT_REFUSES(gru(numbers, {}, {}, numbers, {}), "[gru] x is on cuda:0");
}

TEST(Devices, OperandsOnTwoAreRefused) {
  FakeDevice device;
  const Tensor x = normal({2, 4}, 1), w = normal({4, 4}, 2), bias = normal({4}, 3);
  const Tensor x_away = there(x), w_away = there(w), bias_away = there(bias);
  Tensor out(DType::f32, {2, 4}), out_away(DType::f32, {2, 4}, kFakeDevice);
  EXPECT_REFUSES(softmax(x, out_away), "[softmax] out is on cuda:0, but x is on cpu");
  EXPECT_REFUSES(softmax(x_away, out), "[softmax] out is on cpu, but x is on cuda:0");
  EXPECT_REFUSES(gelu(x_away, out), "[gelu] out is on cpu, but x is on cuda:0");
  EXPECT_REFUSES(layer_norm(x, bias_away, {}, 0, out), "[layer_norm] gamma is on cuda:0, but x is on cpu");
  EXPECT_REFUSES(matmul(x, w_away, out), "[matmul] w is on cuda:0, but a is on cpu");
  EXPECT_REFUSES(matmul(x_away, PackedMatrix(w), out_away), "[matmul] w is on cpu, but a is on cuda:0");
  EXPECT_REFUSES(matmul(x, w, out, {.bias = bias_away}), "[matmul] bias is on cuda:0, but a is on cpu");
  Tensor memory(DType::f32, {PackedMatrix::bytes_needed(4, 4) / 4});
  EXPECT_REFUSES(PackedMatrix(w_away, memory), "[PackedMatrix] memory is on cpu, but w is on cuda:0");
  const Tensor heads = normal({1, 1, 2, 4}, 1), heads_away = there(heads);
  const Tensor scores_bias = there(normal({2, 2}, 1));
  Tensor result(DType::f32, heads.shape());
  EXPECT_REFUSES(attention(heads, heads_away, heads, {}, result),
                 "[attention] key is on cuda:0, but query is on cpu");
  EXPECT_REFUSES(attention(heads, heads, heads, {.bias = scores_bias}, result),
                 "[attention] bias is on cuda:0, but query is on cpu");
  EXPECT_REFUSES(attention(heads_away, heads_away, heads_away, {}, result),
                 "[attention] out is on cpu, but query is on cuda:0");
  const KeyValueCache cache(DType::f32, 1, 1, 4, 4);
  EXPECT_REFUSES(cache.attention(heads_away), "is on cpu, but query is on cuda:0");
  EXPECT_REFUSES(attention_rows(heads, heads_away, {}, Stage::weights), "key is on cuda:0");
}

TEST(Devices, OneThatIsNotThereIsRefused) {
  EXPECT_EQ(devices().size(), 1u);
  EXPECT_REFUSES(Tensor(DType::f32, {2}, kFakeDevice), "[tensor] there is no device cuda:0 here");
  EXPECT_REFUSES(Tensor(DType::f32, {2}, Device{DeviceKind::cuda, 99}), "there is no device cuda:99 here");
  EXPECT_REFUSES(Tensor(DType::f32, {2}, Device{DeviceKind::cpu, 1}), "there is no device cpu:1 here");
  EXPECT_REFUSES(PackedMatrix::bytes_needed(2, 2, kFakeDevice), "there is no device cuda:0 here");
  EXPECT_REFUSES(add_device({}, kHostOperations), "[add_device] cpu cannot be added");
  float number = 0;
  const TensorView view(&number, DType::f32, {1}, {1}, kFakeDevice);
  EXPECT_REFUSES(softmax(view, view), "[softmax] there is no device cuda:0 here");
  EXPECT_REFUSES(copy(view, view), "[copy] there is no device cuda:0 here");
}

TEST(Devices, AnOperationThatOneDoesNotHaveIsRefused) {
  FakeDevice device;
  device.operations().softmax = nullptr;
  Tensor x = there(normal({2, 4}, 1));
  EXPECT_REFUSES(softmax(x, x), "[softmax] is not implemented on cuda:0");
  gelu(x, x);  // the others are
}

}  // namespace
}  // namespace attend
