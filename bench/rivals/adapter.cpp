// attend behind a C ABI, so that Python can call it through ctypes beside its rivals. All tensors are
// row-major; those without a type are f32. A function returns 0, or 1 after an error that attend_error()
// tells.
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

template <class Pointer>
BasicView<Pointer> dense(Pointer data, DType dtype, const Dims& shape) {
  return {data, dtype, shape, row_major_strides(shape)};
}

}  // namespace

extern "C" {

// (b, h, n, d) of queries, keys, values and what has their shape, all in bf16 or all in f32; (b, h, n) of a
// row state, in f32.
struct AttentionShape {
  std::int64_t b, h, n, d;
  std::int32_t is_bf16;

  DType type() const { return is_bf16 != 0 ? DType::bf16 : DType::f32; }
  Dims dims() const { return {b, h, n, d}; }
  Dims rows() const { return {b, h, n}; }
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

int attend_forward(AttentionShape shape, int causal, const void* q, const void* k, const void* v, void* out,
                   float* max, float* sum) {
  return guarded([&] {
    const auto input = [&](const void* data) { return dense(data, shape.type(), shape.dims()); };
    RowStateView state;
    if (max != nullptr) state = {TensorView(max, shape.rows()), TensorView(sum, shape.rows())};
    attention(input(q), input(k), input(v), options_of(causal), dense(out, shape.type(), shape.dims()),
              state);
  });
}

int attend_backward(AttentionShape shape, int causal, const void* q, const void* k, const void* v,
                    const void* out, const float* max, const float* sum, const void* d_out, void* d_q,
                    void* d_k, void* d_v) {
  return guarded([&] {
    const auto input = [&](const void* data) { return dense(data, shape.type(), shape.dims()); };
    const auto output = [&](void* data) { return dense(data, shape.type(), shape.dims()); };
    attention_backward(input(q), input(k), input(v), options_of(causal), input(out),
                       {ConstTensorView(max, shape.rows()), ConstTensorView(sum, shape.rows())}, input(d_out),
                       {.q = output(d_q), .k = output(d_k), .v = output(d_v)});
  });
}

// Output, the keys and weights (b, h, n, top) that each query looks at most, and what each key receives (b,
// h, n).
int attend_output_and_weights(AttentionShape shape, std::int64_t top, const float* q, const float* k,
                              const float* v, float* out, std::int64_t* top_keys, float* top_weights,
                              float* received) {
  return guarded([&] {
    const Dims dims = shape.dims();
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
