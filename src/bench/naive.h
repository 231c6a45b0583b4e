// Attention exactly as in the formula: all scores, their softmax, then the product with the values. It stores
// the n x n matrix. Both products and the softmax are the library's own, on all threads, so it is slower
// because of what it stores, not because of how it is written.
#pragma once

#include <attend/tensor.h>

namespace attend::bench {

// q, k, v, out: (n, d); scores: (n, n), which the weights then overwrite; all f32.
void naive_attention(ConstTensorView q, ConstTensorView k, ConstTensorView v, TensorView scores,
                     TensorView out);

// Bytes of the n x n matrix in f32.
double matrix_bytes(std::int64_t n);

}  // namespace attend::bench
