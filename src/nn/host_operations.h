// The host's functions of layers, for its row of the table of operations (base/operations.h). The arguments
// have been checked; each is defined beside the public function that checks them.
#pragma once

#include <attend/cross_entropy.h>
#include <attend/dropout.h>
#include <attend/layer_norm.h>
#include <attend/matmul.h>
#include <attend/positions.h>
#include <attend/rms_norm.h>

#include <cstdint>
#include <span>

#include "base/operations.h"

namespace attend::host {

std::int64_t packed_bytes(PackedAs as, std::int64_t rows, std::int64_t columns);
void pack(ConstTensorView w, PackedAs as, void* memory);
void transpose_packed(const PackedMatrix& w, void* memory);
void matmul_packed(ConstTensorView a, const PackedMatrix& w, TensorView out, const MatmulEpilogue& epilogue);
void matmul(ConstTensorView a, ConstTensorView w, TensorView out, const MatmulEpilogue& epilogue);
void linear(ConstTensorView x, ConstTensorView w, ConstTensorView bias, TensorView out);
void add_linear_gradient(ConstTensorView x, ConstTensorView d_out, TensorView d_w, TensorView d_bias,
                         TensorView room, PackedAs as);

void add(ConstTensorView a, ConstTensorView b, TensorView out);
void activate(ConstTensorView x, Activation form, TensorView out);
void activate_backward(ConstTensorView x, Activation form, ConstTensorView d_out, TensorView d_x);
void swiglu(ConstTensorView gate, ConstTensorView up, TensorView out);
void swiglu_backward(ConstTensorView gate, ConstTensorView up, ConstTensorView d_out, TensorView d_gate,
                     TensorView d_up);
void softmax(ConstTensorView x, TensorView out);
void layer_norm(ConstTensorView x, ConstTensorView residual, ConstTensorView gamma, ConstTensorView beta,
                double epsilon, TensorView out, const LayerNormStateView& state);
void layer_norm_backward(ConstTensorView x, ConstTensorView gamma, double epsilon, ConstTensorView d_out,
                         const LayerNormGradients& gradients, ConstTensorView residual);
void rms_norm(ConstTensorView x, ConstTensorView gamma, double epsilon, TensorView out);
void rms_norm_backward(ConstTensorView x, ConstTensorView gamma, double epsilon, ConstTensorView d_out,
                       const RmsNormGradients& gradients, ConstTensorView residual);
void dropout(ConstTensorView x, const Dropout& dropout, TensorView out);
CrossEntropy cross_entropy(ConstTensorView logits, std::span<const std::int32_t> targets, double weight,
                           TensorView d_logits);

void embedding(std::span<const std::int32_t> ids, ConstTensorView table, TensorView out);
void add_embedding(std::span<const std::int32_t> ids, ConstTensorView table, TensorView out);
void add_embedding_gradient(std::span<const std::int32_t> ids, ConstTensorView d_out, TensorView d_table);
void add_learned_positions(ConstTensorView x, ConstTensorView table, std::span<const std::int64_t> positions,
                           TensorView out);
void sinusoidal_positions(TensorView out, std::int64_t start, double base);
void relative_bias(ConstTensorView table, const RelativeBuckets& shape, std::int64_t query_offset,
                   TensorView out);
void rotary(ConstTensorView x, std::span<const std::int64_t> positions, const Rotary& rotary, TensorView out,
            bool inverse);
void rotary_tables(ConstTensorView x, ConstTensorView cosines, ConstTensorView sines, RotaryPairing pairing,
                   TensorView out, bool inverse);

}  // namespace attend::host
