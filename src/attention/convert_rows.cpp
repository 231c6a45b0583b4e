#include "attention/convert_rows.h"

#include "base/rows.h"
#include "kernels/convert/convert.h"
#include "kernels/isa.h"

namespace attend {
namespace {

bool side_by_side(ConstTensorView view) { return row_size(view) <= 1 || row_stride(view) == 1; }

template <class From, class To, class Convert>
void each_row(ConstTensorView from, TensorView to, Convert convert) {
  const auto* const source = from.data<From>();
  auto* const target = to.data<To>();
  for_each_row(row_count(from), row_size(from), [&](std::int64_t row, int) noexcept {
    convert(source + row_offset(from, row), row_size(from), target + row_offset(to, row));
  });
}

}  // namespace

void convert_rows(ConstTensorView from, TensorView to) {
  const bool widens = to.dtype() == DType::f32 && (from.dtype() == DType::bf16 || from.dtype() == DType::f16);
  const bool narrows = from.dtype() == DType::f32 && (to.dtype() == DType::bf16 || to.dtype() == DType::f16);
  if ((!widens && !narrows) || from.rank() == 0 || !side_by_side(from) || !side_by_side(to) ||
      element_count(from.shape()) == 0) {
    copy(from, to);
    return;
  }
  kernels::require_isa();
  const DType half = widens ? from.dtype() : to.dtype();
  const auto run = [&]<class Half>(Half) {
    const auto widen = [](const Half* x, std::int64_t n, float* y) { kernels::widen_row(x, n, y); };
    const auto narrow = [](const float* x, std::int64_t n, Half* y) { kernels::narrow_row(x, n, y); };
    widens ? each_row<Half, float>(from, to, widen) : each_row<float, Half>(from, to, narrow);
  };
  half == DType::bf16 ? run(bfloat16{}) : run(float16{});
}

}  // namespace attend
