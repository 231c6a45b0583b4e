#include "attention/as_multiplied.h"

#include "attention/forward_bf16.h"
#include "attention/kernels.h"
#include "attention/staged.h"

namespace attend::detail {

AsMultiplied::AsMultiplied(const Layout& layout, DType query, const AttentionOptions& options,
                           ConstTensorView source, std::int64_t SequenceLayout::*first_row,
                           std::int64_t SequenceLayout::*rows)
    : view_(source) {
  if (!source.given() || source.dtype() == DType::bf16 || !computes_in_bf16(layout)) return;
  rounded_ = Tensor(DType::f32, source.shape());
  convert_rows(source, rounded_);
  view_ = rounded_;
  for (std::size_t s = 0; s < layout.sequences.size(); ++s) {
    const SequenceLayout& sequence = layout.sequences[s];
    if (pick_attention_kernel(query, layout, sequence, options).forward != forward_bf16) continue;
    const auto index = static_cast<std::int64_t>(s);
    const std::int64_t begin = layout.packed ? sequence.*first_row : index;
    const std::int64_t end = layout.packed ? begin + sequence.*rows : index + 1;
    const TensorView part = rounded_.view().slice(0, begin, end);
    Tensor narrow(DType::bf16, part.shape());
    convert_rows(part, narrow);
    convert_rows(narrow, part);
  }
}

}  // namespace attend::detail
