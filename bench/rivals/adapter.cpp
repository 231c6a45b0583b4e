// attend behind a C ABI, so that Python can call it through ctypes beside its rivals. All tensors are
// row-major, and f32 where nothing else is said. A function returns 0, or 1 after an error that
// attend_error() tells.
#include <attend/attend.h>
#include <attend/attention_backward.h>
#include <attend/matmul.h>
#include <attend/weights.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <string>

namespace {

using namespace attend;

std::string last_error;

template <class Body>
int guarded(Body body) noexcept {
  try {
    body();
    return 0;
  } catch (const std::exception& error) {
    last_error = error.what();
    return 1;
  }
}

AttentionOptions options_of(int causal) {
  AttentionOptions options;
  options.causal = causal != 0;
  return options;
}

}  // namespace

extern "C" {

// (b, h, n, d) of queries, keys and values; (b, h, n) of a row state.
struct AttentionShape {
  std::int64_t b, h, n, d;
};

const char* attend_error() { return last_error.c_str(); }

const char* attend_isa() {
  static const std::string name = isa();
  return name.c_str();
}

const char* attend_isa_bf16() {
  static const std::string name = isa(Precision::bf16);
  return name.c_str();
}

int attend_set_threads(int count) {
  return guarded([&] { set_threads(count); });
}

int attend_forward(AttentionShape shape, int causal, const float* q, const float* k, const float* v,
                   float* out, float* max, float* sum) {
  return guarded([&] {
    const Dims dims = {shape.b, shape.h, shape.n, shape.d}, rows = {shape.b, shape.h, shape.n};
    const auto input = [&](const float* data) { return ConstTensorView(data, dims); };
    RowStateView state;
    if (max != nullptr) state = {TensorView(max, rows), TensorView(sum, rows)};
    attention(input(q), input(k), input(v), options_of(causal), TensorView(out, dims), state);
  });
}

// All four in bf16.
int attend_forward_bf16(AttentionShape shape, int causal, const std::uint16_t* q, const std::uint16_t* k,
                        const std::uint16_t* v, std::uint16_t* out) {
  return guarded([&] {
    const Dims dims = {shape.b, shape.h, shape.n, shape.d}, strides = row_major_strides(dims);
    const auto input = [&](const void* data) { return ConstTensorView(data, DType::bf16, dims, strides); };
    attention(input(q), input(k), input(v), options_of(causal), TensorView(out, DType::bf16, dims, strides));
  });
}

int attend_backward(AttentionShape shape, int causal, const float* q, const float* k, const float* v,
                    const float* out, const float* max, const float* sum, const float* d_out, float* d_q,
                    float* d_k, float* d_v) {
  return guarded([&] {
    const Dims dims = {shape.b, shape.h, shape.n, shape.d}, rows = {shape.b, shape.h, shape.n};
    const auto input = [&](const float* data) { return ConstTensorView(data, dims); };
    attention_backward(input(q), input(k), input(v), options_of(causal), input(out),
                       {ConstTensorView(max, rows), ConstTensorView(sum, rows)}, input(d_out),
                       {.q = TensorView(d_q, dims), .k = TensorView(d_k, dims), .v = TensorView(d_v, dims)});
  });
}

// Output, the keys and weights (b, h, n, top) that each query looks at most, and what each key receives (b,
// h, n).
int attend_output_and_weights(AttentionShape shape, std::int64_t top, const float* q, const float* k,
                              const float* v, float* out, std::int64_t* top_keys, float* top_weights,
                              float* received) {
  return guarded([&] {
    const Dims dims = {shape.b, shape.h, shape.n, shape.d};
    const ConstTensorView queries(q, dims), keys(k, dims);
    RowState state(queries);
    attention(queries, keys, ConstTensorView(v, dims), {}, TensorView(out, dims), state);
    const WeightsSummary summary =
        summarize_weights(queries, keys, {}, {.top_k = top, .received = true}, state);
    std::ranges::copy(summary.top_keys.values<std::int64_t>(), top_keys);
    std::ranges::copy(summary.top_weights.values<float>(), top_weights);
    std::ranges::copy(summary.received.values<float>(), received);
  });
}

// w (k, n); null after an error.
void* attend_pack(std::int64_t k, std::int64_t n, const float* w) {
  PackedMatrix* packed = nullptr;
  guarded([&] { packed = new PackedMatrix(ConstTensorView(w, {k, n})); });
  return packed;
}

void attend_free(void* packed) { delete static_cast<PackedMatrix*>(packed); }

// out (m, n) = a (m, k) times the packed (k, n).
int attend_matmul(std::int64_t m, const void* packed, const float* a, float* out) {
  return guarded([&] {
    const auto& w = *static_cast<const PackedMatrix*>(packed);
    matmul(ConstTensorView(a, {m, w.rows()}), w, TensorView(out, {m, w.columns()}));
  });
}

}  // extern "C"
