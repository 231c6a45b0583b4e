// The host's row of the table of operations. It is here because this is the lowest layer that sees all of its
// functions.
#include "nn/host_operations.h"

#include "attention/host_operations.h"
#include "base/host_memory.h"

namespace attend {

constinit const Operations detail::kHostOperations{
    .allocate = host::allocate,
    .free = host::free,
    .copy = host::copy,
    .fill = host::fill,
    .synchronize = host::synchronize,
    .wait_for_stream = host::wait_for_stream,
    .packed_bytes = host::packed_bytes,
    .pack = host::pack,
    .transpose_packed = host::transpose_packed,
    .matmul_packed = host::matmul_packed,
    .matmul = host::matmul,
    .linear = host::linear,
    .add_linear_gradient = host::add_linear_gradient,
    .add = host::add,
    .activate = host::activate,
    .activate_backward = host::activate_backward,
    .swiglu = host::swiglu,
    .swiglu_backward = host::swiglu_backward,
    .softmax = host::softmax,
    .layer_norm = host::layer_norm,
    .layer_norm_backward = host::layer_norm_backward,
    .rms_norm = host::rms_norm,
    .rms_norm_backward = host::rms_norm_backward,
    .dropout = host::dropout,
    .cross_entropy = host::cross_entropy,
    .embedding = host::embedding,
    .add_embedding = host::add_embedding,
    .add_embedding_gradient = host::add_embedding_gradient,
    .add_learned_positions = host::add_learned_positions,
    .sinusoidal_positions = host::sinusoidal_positions,
    .relative_bias = host::relative_bias,
    .rotary = host::rotary,
    .rotary_tables = host::rotary_tables,
    .attention_kernel = host::attention_kernel,
    .attention = host::attention,
    .attention_rows = host::attention_rows,
    .summarize_weights = host::summarize_weights,
    .attention_backward = host::attention_backward,
    .log_sum_exp = host::log_sum_exp,
    .merge_attention = host::merge_attention,
};

}  // namespace attend
