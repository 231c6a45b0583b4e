#include "nn/gru.h"

#include <attend/checkpoint.h>
#include <attend/threads.h>

#include <string>

#include "nn/linear_gradient.h"
#include "support/compare.h"
#include "support/each_isa.h"
#include "support/finite_difference.h"
#include "support/random.h"
#include "support/refuses.h"

namespace attend {
namespace {

// Parameters of one layer, or their gradients.
struct Layer {
  Tensor input, state, input_bias, state_bias;
  GruWeights weights() const { return {input, state, input_bias, state_bias}; }
  GruGradients gradients() { return {input, state, input_bias, state_bias}; }
};

Layer random_layer(std::int64_t in, std::int64_t e, DType dtype, std::uint64_t seed) {
  return {random_normal({in, 3 * e}, dtype, seed), random_normal({e, 3 * e}, dtype, seed + 1),
          random_normal({3 * e}, dtype, seed + 2), random_normal({3 * e}, dtype, seed + 3)};
}

Layer as(const Layer& layer, DType dtype) {
  return {copy_of(layer.input, dtype), copy_of(layer.state, dtype), copy_of(layer.input_bias, dtype),
          copy_of(layer.state_bias, dtype)};
}

// Memory for one way there and back.
struct Work {
  Work(std::int64_t b, std::int64_t t, std::int64_t in, std::int64_t e, DType dtype)
      : gates(dtype, {b, t, 3 * e}),
        past_term(dtype, {b, t, e}),
        before(dtype, {b, t, e}),
        step(dtype, {b, 3 * e}),
        carried(dtype, {b, e}),
        d_past(dtype, {b, t, 3 * e}),
        packed(DType::f32, {gru_packed_room(in, e)}),
        gradient(DType::f32, {std::max(linear_gradient_room(in, 3 * e), linear_gradient_room(e, 3 * e))}) {}
  GruTrace trace() { return {gates, past_term, before}; }
  GruRoom room() { return {step, carried, d_past, packed, gradient}; }
  Tensor gates, past_term, before, step, carried, d_past, packed, gradient;
};

Tensor states(ConstTensorView x, const Layer& layer) {
  const std::int64_t e = layer.state.size(0);
  Work work(x.size(0), x.size(1), x.size(2), e, x.dtype());
  Tensor out(x.dtype(), {x.size(0), x.size(1), e});
  gru(x, layer.weights(), work.trace(), out, work.room());
  return out;
}

struct Found {
  Tensor x;
  Layer layer;
};

// The gradients of the parameters are added to something, which is not lost.
Found gradients(ConstTensorView x, const Layer& layer, ConstTensorView d_out) {
  const std::int64_t in = x.size(2), e = layer.state.size(0);
  Work work(x.size(0), x.size(1), in, e, x.dtype());
  Tensor out(x.dtype(), d_out.shape());
  gru(x, layer.weights(), work.trace(), out, work.room());
  Found found{Tensor(x.dtype(), x.shape()), random_layer(in, e, x.dtype(), 70)};
  gru_backward(x, layer.weights(), work.trace(), d_out, found.layer.gradients(), found.x, work.room());
  return found;
}

TEST(Gru, Float64AgreesWithFiniteDifferences) {
  constexpr std::int64_t kIn = 3, kWidth = 4;
  Tensor x = random_normal({2, 5, kIn}, DType::f64, 1);
  Layer layer = random_layer(kIn, kWidth, DType::f64, 2);
  const Tensor d_out = random_normal({2, 5, kWidth}, DType::f64, 9);
  const Layer there = random_layer(kIn, kWidth, DType::f64, 70);
  const Found found = gradients(x, layer, d_out);
  const auto loss = [&] {
    return inner_product(states(x, layer), d_out) + inner_product(layer.input, there.input) +
           inner_product(layer.state, there.state) + inner_product(layer.input_bias, there.input_bias) +
           inner_product(layer.state_bias, there.state_bias);
  };
  EXPECT_LT(max_abs_difference(found.x, finite_difference(x, loss)), 1e-9);
  EXPECT_LT(max_abs_difference(found.layer.input, finite_difference(layer.input, loss)), 1e-9);
  EXPECT_LT(max_abs_difference(found.layer.state, finite_difference(layer.state, loss)), 1e-9);
  EXPECT_LT(max_abs_difference(found.layer.input_bias, finite_difference(layer.input_bias, loss)), 1e-9);
  EXPECT_LT(max_abs_difference(found.layer.state_bias, finite_difference(layer.state_bias, loss)), 1e-9);
}

class GruOnEachIsa : public EachIsa {};
INSTANTIATE_TEST_SUITE_P(Isa, GruOnEachIsa, testing::ValuesIn(available_isas()), isa_name);

TEST_P(GruOnEachIsa, AgreesWithFloat64) {
  for (const std::int64_t e : {1, 7, 16, 33}) {
    const Tensor x = random_normal({3, 6, 5}, DType::f32, 1), d_out = random_normal({3, 6, e}, DType::f32, 2);
    const Layer layer = random_layer(5, e, DType::f32, 3), wide = as(layer, DType::f64);
    EXPECT_LT(max_abs_difference(states(x, layer), states(copy_of(x, DType::f64), wide)), 1e-5) << e;
    const Found found = gradients(x, layer, d_out);
    const Found expected = gradients(copy_of(x, DType::f64), wide, copy_of(d_out, DType::f64));
    // Sums of 18 rows that up to 6 steps have passed through, and what they are added to is rounded.
    const double bound = 2e-4;
    EXPECT_LT(max_abs_difference(found.x, expected.x), bound) << e;
    EXPECT_LT(max_abs_difference(found.layer.input, expected.layer.input), bound) << e;
    EXPECT_LT(max_abs_difference(found.layer.state, expected.layer.state), bound) << e;
    EXPECT_LT(max_abs_difference(found.layer.input_bias, expected.layer.input_bias), bound) << e;
    EXPECT_LT(max_abs_difference(found.layer.state_bias, expected.layer.state_bias), bound) << e;
  }
}

// torch.nn.GRU in float64, by tools/golden/make_gru.py.
TEST_P(GruOnEachIsa, AgreesWithPyTorch) {
  const Checkpoint file = Checkpoint::open(std::string(ATTEND_GOLDEN) + "/gru.safetensors");
  // PyTorch's matrices are (3 E, in).
  const auto layer_of = [&](const std::string& prefix, DType dtype) {
    const auto read = [&](const std::string& name) { return file.tensor(prefix + name); };
    return Layer{copy_of(read("weight_ih").transposed(0, 1), dtype),
                 copy_of(read("weight_hh").transposed(0, 1), dtype), copy_of(read("bias_ih"), dtype),
                 copy_of(read("bias_hh"), dtype)};
  };
  for (const auto& [dtype, bound] : {std::pair{DType::f64, 1e-13}, {DType::f32, 1e-5}}) {
    const Tensor x = copy_of(file.tensor("x"), dtype), d_out = copy_of(file.tensor("d_out"), dtype);
    const Layer layer = layer_of("", dtype), expected = layer_of("d_", DType::f64);
    EXPECT_LT(max_abs_difference(states(x, layer), file.tensor("out")), bound);
    Found found = gradients(x, layer, d_out);
    const Layer there = random_layer(x.size(2), d_out.size(2), dtype, 70);
    const auto added = [](const Tensor& sum, const Tensor& before) {
      Tensor result = copy_of(sum, DType::f64);
      const std::vector<double> taken = values_of(before);
      for (std::size_t i = 0; i < taken.size(); ++i) result.values<double>()[i] -= taken[i];
      return result;
    };
    EXPECT_LT(max_abs_difference(found.x, file.tensor("d_x")), bound);
    EXPECT_LT(max_abs_difference(added(found.layer.input, there.input), expected.input), bound);
    EXPECT_LT(max_abs_difference(added(found.layer.state, there.state), expected.state), bound);
    EXPECT_LT(max_abs_difference(added(found.layer.input_bias, there.input_bias), expected.input_bias),
              bound);
    EXPECT_LT(max_abs_difference(added(found.layer.state_bias, there.state_bias), expected.state_bias),
              bound);
  }
}

TEST(Gru, SameBitsWithAnyThreadsAndNeighbours) {
  const Tensor x = random_normal({40, 7, 24}, DType::f32, 1),
               d_out = random_normal({40, 7, 32}, DType::f32, 2);
  const Layer layer = random_layer(24, 32, DType::f32, 3);
  set_threads(1);
  const Tensor out = states(x, layer);
  const Found expected = gradients(x, layer, d_out);
  for (const int count : {2, 3}) {
    set_threads(count);
    EXPECT_TRUE(same_bits(states(x, layer), out));
    const Found found = gradients(x, layer, d_out);
    EXPECT_TRUE(same_bits(found.x, expected.x));
    EXPECT_TRUE(same_bits(found.layer.state, expected.layer.state));
    EXPECT_TRUE(same_bits(found.layer.input, expected.layer.input));
    EXPECT_TRUE(same_bits(found.layer.state_bias, expected.layer.state_bias));
  }
  set_threads(0);
  const ConstTensorView one = x.view().slice(0, 11, 12);
  EXPECT_TRUE(same_bits(states(one, layer), out.view().slice(0, 11, 12)));
}

TEST(Gru, EmptyInputsAndRefusals) {
  const Layer layer = random_layer(3, 4, DType::f32, 1);
  EXPECT_EQ(states(Tensor(DType::f32, {0, 5, 3}), layer).count(), 0);
  EXPECT_EQ(gradients(Tensor(DType::f32, {2, 0, 3}), layer, Tensor(DType::f32, {2, 0, 4})).x.count(), 0);
  EXPECT_REFUSES(states(Tensor(DType::f32, {2, 5, 2}), layer),
                 "[gru] input has shape (3, 12), expected (2, 12)");
  EXPECT_REFUSES(states(Tensor(DType::bf16, {2, 5, 3}), layer), "[gru] x is bf16, expected f32 or f64");
  const Tensor turned(DType::f32, {5, 2, 3});
  EXPECT_REFUSES(states(turned.view().transposed(0, 1), layer), "[gru] x is not contiguous");
}

}  // namespace
}  // namespace attend
