#include "attention/convert_rows.h"

#include "base/rows.h"
#include "kernels/convert/copy_row.h"
#include "kernels/isa.h"

namespace attend {

void convert_rows(ConstTensorView from, TensorView to) {
  if (from.rank() == 0 || element_count(from.shape()) == 0) {
    copy(from, to);
    return;
  }
  kernels::require_isa();
  with_float_type("convert_rows", from.dtype(), [&]<class From>(From) {
    with_float_type("convert_rows", to.dtype(), [&]<class To>(To) {
      const auto* const source = from.data<From>();
      auto* const target = to.data<To>();
      for_each_row(row_count(from), row_size(from), [&](std::int64_t row, int) noexcept {
        copy_row(source + row_offset(from, row), row_stride(from), row_size(from),
                 target + row_offset(to, row), row_stride(to));
      });
    });
  });
}

}  // namespace attend
