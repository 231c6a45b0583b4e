#include "cuda/hopper/tensor_map.h"

#include <cudaTypedefs.h>

#include "cuda/error.h"
#include "cuda/hopper/fragments.h"
#include "cuda/memory.h"

namespace attend::cuda {
namespace {

// Of the driver that runs, so that nothing is linked to libcuda.
PFN_cuTensorMapEncodeTiled_v12000 encoder() {
  static const PFN_cuTensorMapEncodeTiled_v12000 function = [] {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result;
    check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result),
          "find cuTensorMapEncodeTiled in the driver");
    return reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(found);
  }();
  return function;
}

struct Axes {
  std::int64_t columns, rows, heads, sequences;
};

Axes axes_of(const plugin::View& view, bool packed) {
  return packed ? Axes{view.shape[2], view.shape[0], view.shape[1], 1}
                : Axes{view.shape[3], view.shape[2], view.shape[1], view.shape[0]};
}

// Whole steps of 16 bytes, forwards; an axis of one index takes no step.
bool steps_fit(std::int64_t size, std::int64_t stride) {
  return size <= 1 || (stride > 0 && stride % 8 == 0 && stride < std::int64_t{1} << 38);
}

}  // namespace

TmaTensor::TmaTensor(plugin::Place place, const plugin::View& view, bool packed, int box_rows,
                     CUtensorMapL2promotion promotion) {
  const Axes axes = axes_of(view, packed);
  placed_ = placed(view, packed);
  const bool fits = (axes.columns <= 1 || placed_.element == 1) && steps_fit(axes.rows, placed_.row) &&
                    steps_fit(axes.heads, placed_.head) && steps_fit(axes.sequences, placed_.sequence) &&
                    reinterpret_cast<std::uintptr_t>(view.data) % 16 == 0;
  if (!fits) {
    plugin::View copied = view;
    const std::int64_t width = (axes.columns + 7) / 8 * 8;
    std::int64_t step = 1;
    for (int axis = view.rank - 1; axis >= 0; --axis) {
      copied.strides[axis] = step;
      step *= axis == view.rank - 1 ? width : view.shape[axis];
    }
    copy_ = Scratch(place, static_cast<std::size_t>(step) * 2);
    copied.data = copy_.data();
    copy(place, view, copied);
    placed_ = placed(copied, packed);
  }
  const auto bytes = [](std::int64_t size, std::int64_t stride) {
    return static_cast<cuuint64_t>(size <= 1 ? 16 : stride * 2);
  };
  const cuuint64_t sizes[4] = {static_cast<cuuint64_t>(axes.columns), static_cast<cuuint64_t>(axes.rows),
                               static_cast<cuuint64_t>(axes.heads), static_cast<cuuint64_t>(axes.sequences)};
  const cuuint64_t strides[3] = {bytes(axes.rows, placed_.row), bytes(axes.heads, placed_.head),
                                 bytes(axes.sequences, placed_.sequence)};
  const cuuint32_t box[4] = {kChunkColumns, static_cast<cuuint32_t>(box_rows), 1, 1}, every[4] = {1, 1, 1, 1};
  const CUresult result = encoder()(
      &map_, view.number == Number::f16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 4,
      placed_.data, sizes, strides, box, every, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
      promotion, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS)
    fail("could not describe a tensor to the copy engine (error ", static_cast<int>(result), ")");
}

}  // namespace attend::cuda
