// Queries, keys and values as attention() multiplied them: where it rounded tensors of f32 or f16 to bf16,
// what is made from its row states later must start from the same numbers.
#pragma once

#include <attend/attention.h>

#include "attention/layout.h"

namespace attend::detail {

class AsMultiplied {
 public:
  // first_row and rows: where a packed sequence's rows are in `source`.
  AsMultiplied(const Layout& layout, DType query, const AttentionOptions& options, ConstTensorView source,
               std::int64_t SequenceLayout::*first_row, std::int64_t SequenceLayout::*rows);
  AsMultiplied(const AsMultiplied&) = delete;
  AsMultiplied& operator=(const AsMultiplied&) = delete;

  ConstTensorView view() const noexcept { return view_; }

 private:
  Tensor rounded_;
  ConstTensorView view_;
};

struct OperandsAsMultiplied {
  AsMultiplied q, k, v;

  OperandsAsMultiplied(const Layout& layout, ConstTensorView query, ConstTensorView key,
                       ConstTensorView value, const AttentionOptions& options)
      : q(layout, query.dtype(), options, query, &SequenceLayout::query_begin, &SequenceLayout::queries),
        k(layout, query.dtype(), options, key, &SequenceLayout::key_begin, &SequenceLayout::keys),
        v(layout, query.dtype(), options, value, &SequenceLayout::key_begin, &SequenceLayout::keys) {}
};

}  // namespace attend::detail
