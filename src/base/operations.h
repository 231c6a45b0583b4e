// One row of functions for each device: everything that computes on the memory of tensors. The public
// functions check shapes, types and meaning once, for all devices, and then call the row of the device that
// their tensors are on. The host's row is filled in nn/host_operations.cpp; another device adds its own with
// add_device(). An entry may be null: the operation is then refused on that device, in one sentence.
#pragma once

#include <attend/device.h>
#include <attend/dtype.h>
#include <attend/tensor.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "base/detail.h"

#pragma GCC visibility push(default)  // as their headers declare them
namespace attend {

enum class Activation : std::uint8_t;
enum class PackedAs : std::uint8_t;
enum class RotaryPairing : std::uint8_t;
enum class Stage : std::uint8_t;
class PackedMatrix;
struct AttentionGradients;
struct AttentionOptions;
struct ConstRowStateView;
struct CrossEntropy;
struct Dropout;
struct KernelChoice;
struct LayerNormGradients;
struct LayerNormStateView;
struct MatmulEpilogue;
struct RelativeBuckets;
struct RmsNormGradients;
struct Rotary;
struct RowSelection;
struct RowStateView;
struct WeightsRequest;
struct WeightsSummary;

}  // namespace attend
#pragma GCC visibility pop

namespace attend::detail {

struct Layout;

struct Operations {
  using View = ConstTensorView;
  using Out = TensorView;

  // Memory. allocate: zeroed, 64-byte aligned, null where there is not enough. copy: one of the two may be
  // on the host.
  void* (*allocate)(Device device, std::size_t bytes);
  void (*free)(Device device, void* memory) noexcept;
  void (*copy)(View from, Out to);
  void (*fill)(Out out, double value);
  // Work that is under way: until all of the current stream is done; after what another stream has now.
  void (*synchronize)(Device device);
  void (*wait_for_stream)(Device device, void* other);

  // Products.
  std::int64_t (*packed_bytes)(PackedAs as, std::int64_t rows, std::int64_t columns);
  void (*pack)(View w, PackedAs as, void* memory);
  void (*transpose_packed)(const PackedMatrix& w, void* memory);
  void (*matmul_packed)(View a, const PackedMatrix& w, Out out, const MatmulEpilogue& epilogue);
  void (*matmul)(View a, View w, Out out, const MatmulEpilogue& epilogue);
  void (*linear)(View x, View w, View bias, Out out);
  void (*add_linear_gradient)(View x, View d_out, Out d_w, Out d_bias, Out room, PackedAs as);

  // Row by row or element by element. residual, gamma, beta and the like may be not given.
  void (*add)(View a, View b, Out out);
  void (*activate)(View x, Activation form, Out out);
  void (*activate_backward)(View x, Activation form, View d_out, Out d_x);
  void (*swiglu)(View gate, View up, Out out);
  void (*swiglu_backward)(View gate, View up, View d_out, Out d_gate, Out d_up);
  void (*softmax)(View x, Out out);
  void (*layer_norm)(View x, View residual, View gamma, View beta, double epsilon, Out out,
                     const LayerNormStateView& state);
  void (*layer_norm_backward)(View x, View gamma, double epsilon, View d_out,
                              const LayerNormGradients& gradients, View residual);
  void (*rms_norm)(View x, View gamma, double epsilon, Out out);
  void (*rms_norm_backward)(View x, View gamma, double epsilon, View d_out, const RmsNormGradients& gradients,
                            View residual);
  void (*dropout)(View x, const Dropout& dropout, Out out);
  CrossEntropy (*cross_entropy)(View logits, std::span<const std::int32_t> targets, double weight,
                                Out d_logits);

  // Rows of tables, and positions.
  void (*embedding)(std::span<const std::int32_t> ids, View table, Out out);
  void (*add_embedding)(std::span<const std::int32_t> ids, View table, Out out);
  void (*add_embedding_gradient)(std::span<const std::int32_t> ids, View d_out, Out d_table);
  void (*add_learned_positions)(View x, View table, std::span<const std::int64_t> positions, Out out);
  void (*sinusoidal_positions)(Out out, std::int64_t start, double base);
  void (*relative_bias)(View table, const RelativeBuckets& shape, std::int64_t query_offset, Out out);
  void (*rotary)(View x, std::span<const std::int64_t> positions, const Rotary& rotary, Out out,
                 bool inverse);
  void (*rotary_tables)(View x, View cosines, View sines, RotaryPairing pairing, Out out, bool inverse);

  // Attention. `layout` is what check_attention() made of the inputs.
  KernelChoice (*attention_kernel)(const Layout& layout, DType query, const AttentionOptions& options);
  void (*attention)(const Layout& layout, View q, View k, View v, const AttentionOptions& options, Out out,
                    const RowStateView& row_state);
  void (*attention_rows)(const Layout& layout, View q, View k, const AttentionOptions& options, Stage stage,
                         const RowSelection& selection, const ConstRowStateView& row_state, Out out);
  void (*summarize_weights)(const Layout& layout, View q, View k, const AttentionOptions& options,
                            const WeightsRequest& request, const ConstRowStateView& row_state,
                            WeightsSummary& summary);
  void (*attention_backward)(const Layout& layout, View q, View k, View v, const AttentionOptions& options,
                             View out, const ConstRowStateView& row_state, View d_out,
                             const AttentionGradients& gradients);
  void (*log_sum_exp)(const ConstRowStateView& row_state, Out out);
  void (*merge_attention)(View out_a, const ConstRowStateView& state_a, View out_b,
                          const ConstRowStateView& state_b, Out out, const RowStateView& row_state);
};

extern const Operations kHostOperations;

// The row outlives the device. A device that is there already is replaced.
void add_device(Device device, const Operations& operations);
void remove_device(Device device) noexcept;

// The devices of libattend_cuda.so, which is looked for at the first question (src/plugin): the row of one,
// or null; why there is none of that number, as the end of a sentence; what one is, for people.
const Operations* cuda_operations(std::int32_t index);
std::string why_not_cuda(std::int32_t index);
std::string cuda_description(std::int32_t index);

// Refuses a device that is not there.
const Operations& operations_of(const char* operation, Device device);

// An operand with its name: where it is, and whether it is there at all.
struct PlacedOperand {
  template <class Pointer>
  PlacedOperand(const char* operand, const BasicView<Pointer>& view)
      : name(operand), device(view.device()), given(view.given()) {}
  PlacedOperand(const char* operand, const Tensor& tensor)
      : name(operand), device(tensor.device()), given(true) {}
  const char* name;
  Device device;
  bool given;
};

// The device that all the given operands are on; refuses two. The host, where none is given.
Device common_device(const char* operation, std::span<const PlacedOperand> operands);
// For code that reads memory by itself.
void require_host(const char* operation, std::span<const PlacedOperand> operands);
inline void require_host(const char* operation, std::initializer_list<PlacedOperand> operands) {
  require_host(operation, std::span(operands.begin(), operands.size()));
}

[[noreturn]] void refuse_missing(const char* operation, Device device);

// The function that carries out an operation where its operands are:
//   on_device("softmax", &Operations::softmax, {{"x", x}, {"out", out}})(x, out);
template <class Function>
Function* on_device(const char* operation, Function* Operations::*entry,
                    std::span<const PlacedOperand> operands) {
  const Device device = common_device(operation, operands);
  Function* const function = operations_of(operation, device).*entry;
  if (function == nullptr) refuse_missing(operation, device);
  return function;
}
template <class Function>
Function* on_device(const char* operation, Function* Operations::*entry,
                    std::initializer_list<PlacedOperand> operands) {
  return on_device(operation, entry, std::span(operands.begin(), operands.size()));
}

}  // namespace attend::detail
