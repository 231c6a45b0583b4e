// A second device: memory of the host behind addresses that the host cannot read, so that code which touches
// it by itself crashes, and a row of operations that counts its calls and has the host's row do the work.
#pragma once

#include <attend/attention_backward.h>
#include <attend/layer_norm.h>
#include <attend/matmul.h>
#include <attend/rms_norm.h>
#include <attend/weights.h>

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/operations.h"

namespace attend {

inline constexpr Device kFakeDevice{DeviceKind::cuda, 0};

namespace fake {

// No address of a program is as high as that.
inline constexpr std::uintptr_t kDistance = std::uintptr_t{1} << 62;

template <class Pointer>
Pointer moved(Pointer address, std::uintptr_t distance) {
  return address == nullptr ? nullptr
                            : reinterpret_cast<Pointer>(reinterpret_cast<std::uintptr_t>(address) + distance);
}

// The same memory as the host sees it. What has no memory is passed on.
template <class T>
const T& seen(const T& argument) {
  return argument;
}
template <class Pointer>
BasicView<Pointer> seen(const BasicView<Pointer>& view) {
  if (!view.given() || view.device().is_host()) return view;
  return {moved(view.raw(), 0 - kDistance), view.dtype(), view.shape(), view.strides()};
}
inline RowStateView seen(const RowStateView& state) { return {seen(state.max), seen(state.sum)}; }
inline ConstRowStateView seen(const ConstRowStateView& state) { return {seen(state.max), seen(state.sum)}; }
inline LayerNormStateView seen(const LayerNormStateView& state) {
  return {seen(state.mean), seen(state.inverse_deviation)};
}
inline LayerNormGradients seen(const LayerNormGradients& gradients) {
  return {seen(gradients.x), seen(gradients.gamma), seen(gradients.beta)};
}
inline RmsNormGradients seen(const RmsNormGradients& gradients) {
  return {seen(gradients.x), seen(gradients.gamma)};
}
inline AttentionGradients seen(const AttentionGradients& gradients) {
  return {seen(gradients.q),
          seen(gradients.k),
          seen(gradients.v),
          seen(gradients.bias),
          seen(gradients.alibi_slopes),
          seen(gradients.sinks)};
}
inline MatmulEpilogue seen(const MatmulEpilogue& epilogue) {
  return {seen(epilogue.bias), epilogue.activation, seen(epilogue.residual)};
}
inline AttentionOptions seen(const AttentionOptions& options) {
  AttentionOptions result = options;
  result.mask = seen(options.mask);
  result.bias = seen(options.bias);
  return result;
}

template <auto kEntry>
inline int calls = 0;

template <auto kEntry, class Type>
struct Forwarded;
template <auto kEntry, class Result, class... Arguments>
struct Forwarded<kEntry, Result (*Operations::*)(Arguments...)> {
  static Result run(Arguments... arguments) {
    ++calls<kEntry>;
    return (kHostOperations.*kEntry)(seen(arguments)...);
  }
};

inline void* allocate(Device device, std::size_t bytes) {
  ++calls<&Operations::allocate>;
  return moved(kHostOperations.allocate(device, bytes), kDistance);
}
inline void free(Device device, void* memory) noexcept {
  ++calls<&Operations::free>;
  kHostOperations.free(device, moved(memory, 0 - kDistance));
}

inline void synchronize(Device) { ++calls<&Operations::synchronize>; }
inline void wait_for_stream(Device, void*) { ++calls<&Operations::wait_for_stream>; }

// A packed matrix of this device is the plain one, as f32: its order is nobody else's affair.
inline std::int64_t packed_bytes(PackedAs, std::int64_t rows, std::int64_t columns) {
  ++calls<&Operations::packed_bytes>;
  return (rows * columns * 4 + 63) / 64 * 64;
}
inline void pack(ConstTensorView w, PackedAs, void* memory) {
  ++calls<&Operations::pack>;
  if (memory != nullptr)
    copy(w, TensorView(memory, DType::f32, w.shape(), row_major_strides(w.shape()), kFakeDevice));
}
inline ConstTensorView unpacked(const PackedMatrix& w) {
  const Dims shape{w.rows(), w.columns()};
  return {w.memory().raw(), DType::f32, shape, row_major_strides(shape), kFakeDevice};
}
inline void transpose_packed(const PackedMatrix& w, void* memory) {
  ++calls<&Operations::transpose_packed>;
  pack(unpacked(w).transposed(0, 1), PackedAs::f32, memory);
}
inline void matmul_packed(ConstTensorView a, const PackedMatrix& w, TensorView out,
                          const MatmulEpilogue& epilogue) {
  ++calls<&Operations::matmul_packed>;
  kHostOperations.matmul(seen(a), seen(unpacked(w)), seen(out), seen(epilogue));
}

inline void summarize_weights(const Layout& layout, ConstTensorView q, ConstTensorView k,
                              const AttentionOptions& options, const WeightsRequest& request,
                              const ConstRowStateView& row_state, WeightsSummary& summary) {
  ++calls<&Operations::summarize_weights>;
  WeightsSummary here;
  constexpr Tensor WeightsSummary::*kParts[] = {&WeightsSummary::top_keys, &WeightsSummary::top_weights,
                                                &WeightsSummary::received, &WeightsSummary::entropy,
                                                &WeightsSummary::map};
  for (Tensor WeightsSummary::*const part : kParts)
    here.*part = Tensor((summary.*part).dtype(), (summary.*part).shape());
  kHostOperations.summarize_weights(layout, seen(q), seen(k), seen(options), request, seen(row_state), here);
  for (Tensor WeightsSummary::*const part : kParts) copy(here.*part, summary.*part);
}

}  // namespace fake

// The device is there as long as this lives.
class FakeDevice {
 public:
  struct Entry {
    std::string name;
    int* calls;
  };

  FakeDevice() {
    using O = Operations;
    set<&O::allocate>("allocate", fake::allocate);
    set<&O::free>("free", fake::free);
    forward<&O::copy>("copy");
    forward<&O::fill>("fill");
    set<&O::synchronize>("synchronize", fake::synchronize);
    set<&O::wait_for_stream>("wait_for_stream", fake::wait_for_stream);
    set<&O::packed_bytes>("packed_bytes", fake::packed_bytes);
    set<&O::pack>("pack", fake::pack);
    set<&O::transpose_packed>("transpose_packed", fake::transpose_packed);
    set<&O::matmul_packed>("matmul_packed", fake::matmul_packed);
    forward<&O::matmul>("matmul");
    forward<&O::linear>("linear");
    forward<&O::add_linear_gradient>("add_linear_gradient");
    forward<&O::add>("add");
    forward<&O::activate>("activate");
    forward<&O::activate_backward>("activate_backward");
    forward<&O::swiglu>("swiglu");
    forward<&O::swiglu_backward>("swiglu_backward");
    forward<&O::softmax>("softmax");
    forward<&O::layer_norm>("layer_norm");
    forward<&O::layer_norm_backward>("layer_norm_backward");
    forward<&O::rms_norm>("rms_norm");
    forward<&O::rms_norm_backward>("rms_norm_backward");
    forward<&O::dropout>("dropout");
    forward<&O::cross_entropy>("cross_entropy");
    forward<&O::embedding>("embedding");
    forward<&O::add_embedding>("add_embedding");
    forward<&O::add_embedding_gradient>("add_embedding_gradient");
    forward<&O::add_learned_positions>("add_learned_positions");
    forward<&O::sinusoidal_positions>("sinusoidal_positions");
    forward<&O::relative_bias>("relative_bias");
    forward<&O::rotary>("rotary");
    forward<&O::rotary_tables>("rotary_tables");
    forward<&O::attention_kernel>("attention_kernel");
    forward<&O::attention>("attention");
    forward<&O::attention_rows>("attention_rows");
    set<&O::summarize_weights>("summarize_weights", fake::summarize_weights);
    forward<&O::attention_backward>("attention_backward");
    forward<&O::log_sum_exp>("log_sum_exp");
    forward<&O::merge_attention>("merge_attention");
    add_device(kFakeDevice, operations_);
  }
  ~FakeDevice() { remove_device(kFakeDevice); }
  FakeDevice(const FakeDevice&) = delete;
  FakeDevice& operator=(const FakeDevice&) = delete;

  Operations& operations() { return operations_; }
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  template <auto kEntry, class Function>
  void set(const char* name, Function* function) {
    operations_.*kEntry = function;
    fake::calls<kEntry> = 0;
    entries_.push_back({name, &fake::calls<kEntry>});
  }
  template <auto kEntry>
  void forward(const char* name) {
    set<kEntry>(name, fake::Forwarded<kEntry, std::remove_const_t<decltype(kEntry)>>::run);
  }

  Operations operations_{};
  std::vector<Entry> entries_;
};

inline Tensor there(ConstTensorView here) { return copy_of(here, kFakeDevice); }
inline Tensor here(ConstTensorView there) { return copy_of(there, Device{}); }

}  // namespace attend
