// The first GPU, and a case's tensors on it with the very strides that they have on the host.
#pragma once

#include <attend/attention.h>
#include <gtest/gtest.h>

#include "support/attention_case.h"

namespace attend {

inline constexpr Device kGpu{DeviceKind::cuda, 0};

// Where there is none, a test that needs it says so and is skipped.
#define ATTEND_NEEDS_GPU() \
  if (devices().size() < 2) GTEST_SKIP() << "no GPU: libattend_cuda.so or its device is missing"

inline Tensor to_gpu(ConstTensorView view) { return copy_of(view, kGpu); }
inline Tensor to_host(ConstTensorView view) { return copy_of(view, Device{}); }

struct GpuInputs {
  Tensor q_storage, k_storage, v_storage, mask, bias;
  ConstTensorView q, k, v;
  AttentionOptions options;

  explicit GpuInputs(const AttentionInputs& in)
      : q_storage(to_gpu(in.q_storage)),
        k_storage(to_gpu(in.k_storage)),
        v_storage(to_gpu(in.v_storage)),
        q(moved(in.q, in.q_storage, q_storage)),
        k(moved(in.k, in.k_storage, k_storage)),
        v(moved(in.v, in.v_storage, v_storage)),
        options(in.options) {
    options.precision.reset();  // the host's choice between two ways to multiply; a GPU has one for each type
    if (options.mask.given()) options.mask = mask = to_gpu(in.options.mask);
    if (options.bias.given()) options.bias = bias = to_gpu(in.options.bias);
  }
  GpuInputs(const GpuInputs&) = delete;
  GpuInputs& operator=(const GpuInputs&) = delete;

  Tensor output(DType dtype) const {
    Dims shape = q.shape();
    shape[shape.rank() - 1] = v.size(v.rank() - 1);
    return Tensor(dtype, shape, kGpu);
  }

 private:
  static ConstTensorView moved(ConstTensorView view, const Tensor& from, const Tensor& to) {
    const auto* const start = static_cast<const char*>(from.view().raw());
    const auto* const base = static_cast<const char*>(to.view().raw());
    const auto* const data =
        base == nullptr ? nullptr : base + (static_cast<const char*>(view.raw()) - start);
    return {data, view.dtype(), view.shape(), view.strides(), kGpu};
  }
};

}  // namespace attend
